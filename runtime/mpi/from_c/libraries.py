"""Libraries in C in a Python program: what they ask of the grid.

Their handles are those of the communicators of Python: what one side makes or frees the other has,
too, with its attributes, which are native.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.communicators.attributes import face_of, remembered
from runtime.mpi.communicators.background import Followed
from runtime.mpi.communicators.copies import begin_copy
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.from_c.library import COMMUNICATOR, GROUP, ShimLibrary
from runtime.mpi.from_c.program import CallsFromC
from runtime.mpi.from_c.values import Values, native_handle
from runtime.mpi.process import native_code
from runtime.mpi.progress.predefined import predefined
from runtime.mpi.requests.requests import new_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.mpi.progress.ranks import CommunicatorRanks


class SharedValues(Values):
    """What handles stand for, where Python has made most of them."""

    def comm(self, handle: int) -> Any:
        """Return a communicator, of several clusters or of one."""
        known = self.comms.get(handle)
        return face_of(MPI.Comm.fromhandle(handle)) if known is None else known

    def hand_out(self, comm: Any, parent: int = 0, *, handler: MPI.Errhandler | None = None) -> int:
        """Return the handle of a new communicator, which became a token when it was made."""
        del parent
        if handler is not None:
            comm.Set_errhandler(handler)
        return native_handle(comm)

    def predefined(self, comm: Any) -> int:
        """Return the handle of a communicator, which is a token from the start."""
        return native_handle(comm)

    def duplicate(self, handle: int, info: int) -> int:
        """Return the handle of a duplicate."""
        hints = MPI.Info.fromhandle(info)
        return native_handle(self.comm(handle).Dup(hints if hints != MPI.INFO_NULL else None))

    def begin_duplicate(self, handle: int, info: int, give: Callable[[int], None]) -> MPI.Request:
        """Begin a duplicate, and give its handle at the end; return its request."""
        hints, of = MPI.Info.fromhandle(info), self.comm(handle)
        made, copying = begin_copy(of, hints if hints != MPI.INFO_NULL else None)
        end = Followed((copying,), lambda: give(native_handle(made)))
        return new_request(of._members, end)

    def free(self, handle: int) -> int:
        """Free a communicator with its native one: FREED in `core.c`."""
        self.comm(handle).Free()
        return 1


class LibrariesInC(CallsFromC):
    """Serves the libraries of the Python program in this process; it keeps `native_code.tokens`."""

    def __init__(self, path: str) -> None:
        library = ShimLibrary(path)
        self._world = predefined().comms["COMM_WORLD"]
        super().__init__(library, SharedValues(library, self._world))
        for comm in predefined().comms.values():
            members = members_behind(comm)
            if members is not None:
                self.add(members)
        for members in remembered():
            self.add(members)
        native_code.tokens = self

    def add(self, members: CommunicatorRanks) -> None:
        """Let the native communicator of a membership stand for it."""
        handle = native_handle(members.native)
        self._library.remember(handle, COMMUNICATOR, members.rank, len(members.group))

    def remove(self, handle: int) -> None:
        """Let a handle be native again."""
        self._library.forget(handle, COMMUNICATOR)

    def named(self, comm: MPI.Comm) -> MPI.Comm:
        """Return the communicator whose handle is that of another one.

        COMM_WORLD has that of MPI_COMM_WORLD, with which libraries compare it. Its messages do not
        go there: MPICH does not finalise once one is left in it that nobody has received.
        """
        return MPI.COMM_WORLD if comm == self._world else comm

    def add_group(self, group: MPI.Group) -> None:
        """Let the handle of a group over several clusters stand for it."""
        handle = native_handle(group)
        if handle not in self._values.groups:
            self._library.remember(handle, GROUP)
            self._values.groups[handle] = group

    def remove_group(self, group: MPI.Group) -> None:
        """Let the handle of a group be native again."""
        self._values.forget_group(native_handle(group))

    def functions(self) -> list[Callable[..., int]]:
        """Return what the library asks, by its numbers."""
        return self._functions
