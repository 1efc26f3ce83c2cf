"""`MPI.AVG` on communicators that native MPI serves: it sums, the mean is taken here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from mpi4py import MPI

from runtime.mpi.collective_calls_memory import elements, is_in_place, put_elements, read
from runtime.mpi.reductions import Averaging
from runtime.mpi.specs import Spec


def reduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int) -> None:
    """Give the root the mean of everybody's values."""
    inter = comm.Is_inter()
    if root == MPI.PROC_NULL:
        MPI.Comm.Reduce(comm, None, None, MPI.SUM, root)
        return
    at_root = root == (MPI.ROOT if inter else comm.Get_rank())
    received = read(recvbuf, readonly=False, blocks=0) if at_root else None
    sent = received
    if received is None or not (inter or is_in_place(sendbuf)):
        sent = read(sendbuf, readonly=True, blocks=0)
    assert sent is not None
    averaging, count = _averaging(comm, sent)
    kind = averaging.reduction.datatype
    mine = None if inter and at_root else [averaging.encoded(elements(sent)), kind]
    room = None if received is None else memoryview(bytearray(sent.count * averaging.width))
    MPI.Comm.Reduce(comm, mine, None if room is None else [room, kind], MPI.SUM, root)
    if received is not None and room is not None:
        put_elements(received, averaging.decoded(room, count))


def allreduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Give everybody the mean of everybody's values."""
    received = read(recvbuf, readonly=False, blocks=0)
    put_elements(received, _means(comm, _sent(comm, sendbuf, received)))


def reduce_scatter_block(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Give everybody an equal block of the means of everybody's values."""
    size, rank = comm.Get_size(), comm.Get_rank()
    in_place = not comm.Is_inter() and is_in_place(sendbuf)
    received = read(recvbuf, readonly=False, blocks=size if in_place else 0)
    block = received if in_place else read(sendbuf, readonly=True, blocks=size)
    whole = Spec(block.buffer, block.memory, block.count * size, block.datatype, block.offset)
    _put_block(received, _means(comm, whole), rank * received.count)


def reduce_scatter(
    comm: MPI.Comm, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None
) -> None:
    """Give everybody a block of the means of everybody's values."""
    received = read(recvbuf, readonly=False, blocks=0)
    sent = _sent(comm, sendbuf, received)
    if recvcounts is None:
        counts = comm.allgather(received.count)
    else:
        counts = [index(one) for one in recvcounts]
    rank = comm.Get_rank()
    target = Spec(
        received.buffer, received.memory, counts[rank], received.datatype, received.offset
    )
    _put_block(target, _means(comm, sent), sum(counts[:rank]))


def scan(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> None:
    """Give everybody the mean of the values of the ranks up to its own."""
    _scanned(comm, sendbuf, recvbuf, MPI.Intracomm.Scan, comm.Get_rank() + 1)


def exscan(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> None:
    """Give everybody the mean of the values of the ranks before its own."""
    _scanned(comm, sendbuf, recvbuf, MPI.Intracomm.Exscan, comm.Get_rank())


def _scanned(
    comm: MPI.Intracomm,
    sendbuf: Any,
    recvbuf: Any,
    add: Callable[[MPI.Intracomm, Any, Any, MPI.Op], None],
    covered: int,
) -> None:
    received = read(recvbuf, readonly=False, blocks=0)
    sent = _sent(comm, sendbuf, received)
    averaging, _ = _averaging(comm, sent)
    kind = averaging.reduction.datatype
    room = memoryview(bytearray(sent.count * averaging.width))
    add(comm, [averaging.encoded(elements(sent)), kind], [room, kind], MPI.SUM)
    if covered:
        put_elements(received, averaging.decoded(room, covered))


def _sent(comm: MPI.Comm, sendbuf: Any, received: Spec) -> Spec:
    if not comm.Is_inter() and is_in_place(sendbuf):
        return received
    return read(sendbuf, readonly=True, blocks=0)


def _averaging(comm: MPI.Comm, sent: Spec) -> tuple[Averaging, int]:
    """Return how means are computed here, and of how many values."""
    size = comm.Get_size()
    if isinstance(comm, MPI.Intercomm):
        there = comm.Get_remote_size()
        return Averaging(sent.datatype, size + there), there
    return Averaging(sent.datatype, size), size


def _means(comm: MPI.Comm, sent: Spec) -> memoryview:
    averaging, count = _averaging(comm, sent)
    kind = averaging.reduction.datatype
    room = memoryview(bytearray(sent.count * averaging.width))
    MPI.Comm.Allreduce(comm, [averaging.encoded(elements(sent)), kind], [room, kind], MPI.SUM)
    return averaging.decoded(room, count)


def _put_block(received: Spec, means: memoryview, first: int) -> None:
    width = received.datatype.extent
    put_elements(received, means[first * width : (first + received.count) * width])
