"""How messages of programs are begun that cannot just be left to native MPI."""

from __future__ import annotations

import warnings
from functools import cache
from operator import index

from mpi4py import MPI

from runtime.mpi.errors import refuse, report
from runtime.mpi.landings import Fresh, InSpec, into_memory
from runtime.mpi.operations import NativeOperation, Operation
from runtime.mpi.specs import memory_of, read
from runtime.mpi.statuses import fill

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from runtime.mpi.landings import Landing
    from runtime.mpi.membership import Membership
    from runtime.mpi.specs import Data


def send_spec(
    m: Membership, buf: Any, dest: int, tag: int, *, sync: bool = False, copy: bool = False
) -> Operation:
    """Begin to send what a message specification describes to another cluster."""
    check(m, dest, tag)
    data = read(buf, readonly=True).pack()
    return send_data(m, bytes(data) if copy else data, dest, tag, sync=sync)


def send_object(m: Membership, obj: Any, dest: int, tag: int, *, sync: bool = False) -> Operation:
    """Begin to send an object to another cluster."""
    check(m, dest, tag)
    return send_data(m, MPI.pickle.dumps(obj), dest, tag, sync=sync)


def send_data(m: Membership, data: Data, dest: int, tag: int, *, sync: bool = False) -> Operation:
    """Begin to send bytes."""
    return m.engine.send(m, index(dest), index(tag), data, sync=sync)


def receive_spec(m: Membership, buf: Any, source: int, tag: int) -> Operation:
    """Begin to receive, from wherever, what a message specification describes."""
    near = m.near.get(source)
    if near is not None and (near == MPI.PROC_NULL or not m.sought):
        request = m.native.Irecv(buf, near, tag)
        return NativeOperation(request, m.rank_from, f"a message from rank {source}")
    check_source(m, source, tag)
    return m.engine.receive(m, source, tag, InSpec(read(buf, readonly=False)))


def receive_object(
    m: Membership, buf: Any, source: int, tag: int
) -> tuple[Operation, Callable[[Operation], Any]]:
    """Begin to receive an object from wherever; return also how to make it.

    `buf` is memory to receive it in, or how much that shall be at most.
    """
    check_source(m, source, tag)
    memory: memoryview | None = None
    landing: Landing = Fresh()
    if buf is not None:
        memory = memoryview(bytearray(buf)) if hasattr(buf, "__index__") else memory_of(buf, False)
        landing = into_memory(memory)
    operation = m.engine.receive(m, source, tag, landing)

    def load(done: Operation) -> Any:
        data = done.data if memory is None else memory[: done.nbytes]
        return MPI.pickle.loads(data) if data else None

    return operation, load


def begin_buffered(m: Membership, operation: Operation) -> None:
    """Let a send of a copy go on alone, unless it has failed already."""
    if operation.error is not None:
        report(m.native, operation.error)
    m.engine.leave_alone(operation)


def complete(m: Membership, operation: Operation, status: MPI.Status | None = None) -> None:
    """Wait for an operation of a blocking call."""
    m.engine.wait_until(operation.test, lambda: (operation,))
    fill(status, operation)
    if operation.error is not None:
        report(m.native, operation.error)


def check(m: Membership, dest: int, tag: int) -> None:
    """Raise what MPI raises if there is no such rank or tag to send to."""
    if not 0 <= index(dest) < len(m.peers):
        refuse(m.native, MPI.ERR_RANK)
    if not 0 <= index(tag) <= tag_limit():
        refuse(m.native, MPI.ERR_TAG)


def check_source(m: Membership, source: int, tag: int) -> None:
    """Raise what MPI raises if there is no such rank or tag to receive from."""
    if source != MPI.ANY_SOURCE and not 0 <= index(source) < len(m.peers):
        refuse(m.native, MPI.ERR_RANK)
    if tag != MPI.ANY_TAG and not 0 <= index(tag) <= tag_limit():
        refuse(m.native, MPI.ERR_TAG)


def warn_of_buffer() -> None:
    """Say what mpi4py says of the memory for an object."""
    warnings.warn("the 'buf' argument is deprecated", UserWarning, stacklevel=3)


@cache
def tag_limit() -> int:
    """Return the greatest tag of native MPI, which is that of the grid too."""
    limit = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    return limit if isinstance(limit, int) else 32767  # what MPI promises at least
