"""Begins sends and receives that cannot simply be left to native MPI."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from mpi4py import MPI

from runtime.mpi.errors import report, tell
from runtime.mpi.process.place import here
from runtime.mpi.progress.landings import Fresh, InMemory, InSpec
from runtime.mpi.progress.operations import Finished, NativeOperation, Operation
from runtime.mpi.values.numbers import integer, is_integral
from runtime.mpi.values.specs import memory_of, read

if TYPE_CHECKING:
    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.values.specs import Data

End: TypeAlias = "tuple[int, int]"
"""The rank at the other end of a message, and its tag."""


def send_spec(
    m: CommunicatorMembers, buf: Any, dest: int, tag: int, *, sync: bool = False, copy: bool = False
) -> Operation:
    """Begin to send what a message specification describes to another cluster."""
    there = checked(m, dest, tag)
    if there is None:
        return refused()
    data = read(buf, readonly=True).pack()
    return send_data(m, bytes(data) if copy else data, there, sync=sync)


def send_object(
    m: CommunicatorMembers, obj: Any, dest: int, tag: int, *, sync: bool = False
) -> Operation:
    """Begin to send an object to another cluster."""
    there = checked(m, dest, tag)
    if there is None:
        return refused()
    return send_data(m, MPI.pickle.dumps(obj), there, sync=sync)


def send_data(m: CommunicatorMembers, data: Data, there: End, *, sync: bool = False) -> Operation:
    """Begin to send bytes."""
    return m.engine.send(m, *there, data, sync=sync)


def receive_spec(m: CommunicatorMembers, buf: Any, source: int, tag: int) -> Operation:
    """Begin to receive from any source what a message specification describes."""
    near = m.near_to(source)
    if near is not None and (near == MPI.PROC_NULL or not m.sought):
        request = m.native.Irecv(buf, near, tag)
        return NativeOperation(request, m.rank_from, f"a message from rank {source}")
    there = checked_source(m, source, tag)
    if there is None:
        return refused()
    return m.engine.receive(m, *there, InSpec(read(buf, readonly=False)))


def receive_object(
    m: CommunicatorMembers, buf: Any, source: int, tag: int
) -> tuple[Operation, Callable[[Operation], Any]]:
    """Begin to receive an object from any source; return also how to load it.

    `buf` is memory to receive it in, or its largest size.
    """
    there = source_or_refusal(m, source, tag)
    memory: memoryview | None = None
    landing: Landing = Fresh()
    if buf is not None:
        memory = memoryview(bytearray(buf)) if is_integral(buf) else memory_of(buf, False)
        landing = InMemory(memory)
    operation = m.engine.receive(m, *there, landing)

    def load(done: Operation) -> Any:
        data = done.data if memory is None else memory[: done.nbytes]
        return MPI.pickle.loads(data) if data else None

    return operation, load


def begin_buffered(m: CommunicatorMembers, operation: Operation) -> None:
    """Let a buffered send go on by itself, unless it has failed already."""
    if operation.error is not None:
        tell(m.native, operation.error)
    m.engine.leave_alone(operation)


def complete(
    m: CommunicatorMembers, operation: Operation, status: MPI.Status | None = None
) -> None:
    """Wait for the operation of a blocking call."""
    if not operation.done:
        m.engine.waits.wait(operation.test, lambda: (operation,))
    operation.fill(status)
    if operation.error is not None:
        tell(m.native, operation.error)


def checked(m: CommunicatorMembers, dest: Any, tag: Any) -> End | None:
    """Return a destination rank and a tag as numbers, if they are valid.

    Raises what mpi4py raises for what is no number, and what MPI raises if they are invalid, unless
    the program's error handler returns: it returns None then.
    """
    rank, number = integer(dest), integer(tag)
    _refuse_revoked(m)
    if not 0 <= rank < len(m.peers):
        return _refused(m, MPI.ERR_RANK)
    if m.gaps and m.peers[rank] in m.gaps:
        return _refused(m, MPI.ERR_RANK, _gap(m, rank))
    if not 0 <= number <= here().tag_limit:
        return _refused(m, MPI.ERR_TAG)
    return rank, number


def checked_source(m: CommunicatorMembers, source: Any, tag: Any) -> End | None:
    """Return a source rank and a tag as numbers, as `checked` does."""
    rank, number = integer(source), integer(tag)
    _refuse_revoked(m)
    fault = _fault_of_source(m, rank, number)
    return _refused(m, fault, _gap(m, rank)) if fault else (rank, number)


def source_or_refusal(m: CommunicatorMembers, source: Any, tag: Any) -> End:
    """Return a source rank and a tag as numbers, for a call that must have a result.

    Raises MPI's error if they are invalid, also where an error handler returns.
    """
    rank, number = integer(source), integer(tag)
    _refuse_revoked(m)
    if fault := _fault_of_source(m, rank, number):
        report(m.native, _error(fault, _gap(m, rank)))
    return rank, number


def _fault_of_source(m: CommunicatorMembers, source: int, tag: int) -> int:
    """Return MPI's error class for an invalid source rank or tag, or 0."""
    if source != MPI.ANY_SOURCE and not 0 <= source < len(m.peers):
        return MPI.ERR_RANK
    if source >= 0 and m.peers[source] in m.gaps:
        return MPI.ERR_RANK
    if tag != MPI.ANY_TAG and not 0 <= tag <= here().tag_limit:
        return MPI.ERR_TAG
    return MPI.SUCCESS


def _refuse_revoked(m: CommunicatorMembers) -> None:
    """Raise the error of a communicator that is revoked."""
    error = m.recovery.error
    if error is not None:
        report(m.native, error)


def refused() -> Operation:
    """Return the operation of a call that MPI has refused, and that returns all the same."""
    return Finished(MPI.ANY_SOURCE)


def _refused(m: CommunicatorMembers, fault: int, why: str = "") -> End | None:
    """Return None for an invalid end, once an error handler has returned."""
    tell(m.native, _error(fault, why))
    return None


def _error(fault: int, why: str) -> MPI.Exception:
    error = MPI.Exception(fault)
    if why:
        error.add_note(why)
    return error


def _gap(m: CommunicatorMembers, rank: int) -> str:
    """Return whether a rank is a gap."""
    if not 0 <= rank < len(m.peers) or m.peers[rank] not in m.gaps:
        return ""
    return f"rank {rank} is a gap: {m.engine.name_of(m.peers[rank])} was lost before"


def warn_of_buffer() -> None:
    """Give mpi4py's warning about memory for an object."""
    warnings.warn("the 'buf' argument is deprecated", UserWarning, stacklevel=3)
