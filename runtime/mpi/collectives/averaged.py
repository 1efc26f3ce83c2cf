"""`MPI.AVG` on communicators that native MPI serves: it sums, and the mean is computed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from mpi4py import MPI

from runtime.mpi.collectives.memory import elements, is_in_place, put_elements, read
from runtime.mpi.collectives.reductions import Averaging
from runtime.mpi.progress.operations import NativeOperation, Operation
from runtime.mpi.requests.requests import persistent_request, request_for
from runtime.mpi.values.numbers import counts as read_counts
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import Spec

Sums: TypeAlias = "tuple[str, tuple[Any, ...], Callable[[], None]]"
"""The native blocking call to make, its arguments, and what to do with the sums."""


class _Taking(NativeOperation):
    """A native request for sums; the means are computed once it is done."""

    __slots__ = ("_take",)

    def __init__(self, request: MPI.Request, take: Callable[[], None], what: str) -> None:
        super().__init__(request, None, what)
        self._take = take

    def finish(self, error: BaseException | None = None) -> None:
        """Compute the means."""
        if error is None:
            self._take()
        super().finish(error)


def mean(comm: MPI.Comm, name: str, how: str, *args: Any) -> Any:
    """Compute the mean with the reduction `name` and its arguments.

    `how` says whether it is run, begun or prepared, or returns its result as an object.
    """
    if how == "result":
        return _mean_of_objects(comm, name, *args)
    members = getattr(comm, "_members", None)
    if how == "prepare":  # it begins anew when started
        _SUMMING[name](comm, *args)  # raises the errors of the arguments
        return persistent_request(members, lambda: _begun(comm, name, *args))
    if how == "begin":
        return request_for(members, _begun(comm, name, *args))
    call, arguments, finish = _SUMMING[name](comm, *args)
    getattr(MPI.Intracomm, call)(comm, *arguments)
    finish()
    return None


def _begun(comm: MPI.Comm, name: str, *args: Any) -> Operation:
    call, arguments, finish = _SUMMING[name](comm, *args)
    request: MPI.Request = getattr(MPI.Intracomm, f"I{call.lower()}")(comm, *arguments)
    return _Taking(request, finish, f"{call} with MPI.AVG")


def _nothing() -> None:
    """Do nothing where there are no sums."""


def _mean_of_objects(comm: Any, name: str, sendobj: Any, _op: MPI.Op, *root: Any) -> Any:
    total = getattr(MPI.Intracomm, name)(comm, sendobj, MPI.SUM, *root)
    if total is None:
        return None
    if name in {"scan", "exscan"}:
        return total / (comm.Get_rank() + (name == "scan"))
    return total / (comm.Get_remote_size() if comm.Is_inter() else comm.Get_size())


def reduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, _op: MPI.Op, root: int = 0) -> Sums:
    """Give the root the mean of all values."""
    root = integer(root)
    inter = comm.Is_inter()
    if root == MPI.PROC_NULL:
        return "Reduce", (None, None, MPI.SUM, root), _nothing
    at_root = root == (MPI.ROOT if inter else comm.Get_rank())
    received = read(recvbuf, readonly=False, blocks=0) if at_root else None
    sent = received
    if received is None or not (inter or is_in_place(sendbuf)):
        sent = read(sendbuf, readonly=True, blocks=0)
    assert sent is not None
    averaging, count = _averaging(comm, sent)
    kind = averaging.reduction.datatype
    mine = None if inter and at_root else [averaging.encoded(elements(sent)), kind]
    if received is None:
        return "Reduce", (mine, None, MPI.SUM, root), _nothing
    target, room = received, memoryview(bytearray(sent.count * averaging.width))

    def finish() -> None:
        put_elements(target, averaging.decoded(room, count))

    return "Reduce", (mine, [room, kind], MPI.SUM, root), finish


def allreduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, _op: MPI.Op) -> Sums:
    """Give all members the mean of all values."""
    received = read(recvbuf, readonly=False, blocks=0)
    return _means(comm, _sent(comm, sendbuf, received), lambda means: put_elements(received, means))


def reduce_scatter_block(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, _op: MPI.Op) -> Sums:
    """Give every member an equal block of the means of all values."""
    size, rank = comm.Get_size(), comm.Get_rank()
    in_place = not comm.Is_inter() and is_in_place(sendbuf)
    received = read(recvbuf, readonly=False, blocks=size if in_place else 0)
    block = received if in_place else read(sendbuf, readonly=True, blocks=size)
    whole = block.resized(block.count * size)
    return _means(comm, whole, lambda means: _put_block(received, means, rank * received.count))


def reduce_scatter(
    comm: MPI.Comm,
    sendbuf: Any,
    recvbuf: Any,
    recvcounts: Sequence[int] | None = None,
    _op: MPI.Op = MPI.SUM,
) -> Sums:
    """Give every member a block of the means of all values."""
    received = read(recvbuf, readonly=False, blocks=0)
    sent = _sent(comm, sendbuf, received)
    if recvcounts is None:
        counts = comm.allgather(received.count)
    else:
        counts = read_counts(recvcounts, comm.Get_size())
    rank = comm.Get_rank()
    target = received.resized(counts[rank])
    return _means(comm, sent, lambda means: _put_block(target, means, sum(counts[:rank])))


def scan(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, _op: MPI.Op) -> Sums:
    """Give every member the mean of the values of the ranks up to its own."""
    return _scanned(comm, sendbuf, recvbuf, "Scan", comm.Get_rank() + 1)


def exscan(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, _op: MPI.Op) -> Sums:
    """Give every member the mean of the values of the ranks before its own."""
    return _scanned(comm, sendbuf, recvbuf, "Exscan", comm.Get_rank())


def _scanned(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, name: str, covered: int) -> Sums:
    received = read(recvbuf, readonly=False, blocks=0)
    sent = _sent(comm, sendbuf, received)
    averaging, _ = _averaging(comm, sent)
    kind = averaging.reduction.datatype
    room = memoryview(bytearray(sent.count * averaging.width))

    def finish() -> None:
        if covered:
            put_elements(received, averaging.decoded(room, covered))

    mine = [averaging.encoded(elements(sent)), kind]
    return name, (mine, [room, kind], MPI.SUM), finish


def _sent(comm: MPI.Comm, sendbuf: Any, received: Spec) -> Spec:
    if not comm.Is_inter() and is_in_place(sendbuf):
        return received
    return read(sendbuf, readonly=True, blocks=0)


def _averaging(comm: MPI.Comm, sent: Spec) -> tuple[Averaging, int]:
    """Return how means are computed in this process, and of how many values."""
    size = comm.Get_size()
    if isinstance(comm, MPI.Intercomm):
        there = comm.Get_remote_size()
        return Averaging(sent.datatype, size + there), there
    return Averaging(sent.datatype, size), size


def _means(comm: MPI.Comm, sent: Spec, put: Callable[[memoryview], None]) -> Sums:
    averaging, count = _averaging(comm, sent)
    kind = averaging.reduction.datatype
    room = memoryview(bytearray(sent.count * averaging.width))
    mine = [averaging.encoded(elements(sent)), kind]
    return "Allreduce", (mine, [room, kind], MPI.SUM), lambda: put(averaging.decoded(room, count))


def _put_block(received: Spec, means: memoryview, first: int) -> None:
    width = received.datatype.extent
    put_elements(received, means[first * width : (first + received.count) * width])


_SUMMING: dict[str, Callable[..., Sums]] = {
    "Reduce": reduce,
    "Allreduce": allreduce,
    "Reduce_scatter_block": reduce_scatter_block,
    "Reduce_scatter": reduce_scatter,
    "Scan": scan,
    "Exscan": exscan,
}
