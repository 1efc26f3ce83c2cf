"""The end of a communicator: at once, or when pending operations on it are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.communicators.attributes import free_native
from runtime.mpi.communicators.classes import give_handle
from runtime.mpi.progress.operations import POLLED, Operation, Steps

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Task


class CommunicatorRelease(Operation):
    """The last operation of a communicator: done when nothing else is pending there."""

    __slots__ = ("_everybody", "_last", "_members")

    def __init__(self, members: CommunicatorMembers, everybody: CommunicatorMembers) -> None:
        """Come after all operations begun so far; `everybody` are the members for collectives."""
        super().__init__()
        self._members = members
        self._everybody = everybody
        self._last: Task = members.engine.start(everybody, _nothing(), "the end of a communicator")

    @property
    def urgency(self) -> int:
        """It is urgent: native MPI may have to make progress before."""
        return POLLED

    def is_due(self) -> bool:
        """Return whether no collective and no receive is pending."""
        return self._last.done and not self._members.box.matcher.pending()

    def leave(self) -> None:
        """Let the engine forget the communicator."""
        engine = self._members.engine
        engine.leave(self._members)
        if self._everybody is not self._members:
            engine.leave(self._everybody)

    def test(self) -> bool:
        """Free the native communicators when it is due."""
        if not self.done and self.is_due():
            self.leave()
            free_native(self._members)
            self._members.inner.Free()
            self.finish()
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return "the end of what was begun on a communicator that is freed"


def release(comm: MPI.Comm, members: CommunicatorMembers) -> CommunicatorRelease:
    """Free a communicator: it becomes COMM_NULL at once; return the operation that releases it."""
    if members.dense is not None:
        members.dense.Free()
    state = members.collecting  # nothing is imported here: `__del__` comes when modules are gone
    ending = CommunicatorRelease(members, members if state is None else state.everybody)
    engine = members.engine
    with engine.lock:
        if ending.is_due():
            ending.leave()
            give_handle(comm, MPI.COMM_NULL)
            free_native(members)
            members.inner.Free()
            ending.finish()
        else:
            give_handle(comm, MPI.COMM_NULL)
            engine.leave_alone(ending)
    return ending


def _nothing() -> Steps:
    yield ()
