"""Attributes of communicators: native, but their callbacks see communicators of the grid."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

from mpi4py import MPI

from runtime.mpi.communicators.classes import near, null, wrap
from runtime.mpi.process import native_code
from runtime.mpi.progress.predefined import predefined, world_is_grid

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers

_Callback: TypeAlias = "Callable[[MPI.Comm, int, Any], Any]"


looking = _thread.allocate_lock()
"""Held while a thread that only looks asks native MPI about a call that goes on.

Who frees communicators or finalises MPI lets it finish first. By then its own call is over, so
nobody begins to look at it any more.
"""

FT_STATE, FT_PROCESSES, FT_ERRORS, FT_INCARNATION = -7001, -7002, -7003, -7004
"""Attributes of communicators over several clusters: the state of the communicator, the states of
its members by rank, the errors of those that are lost, and how often this process was started.
"""


class Attributes(MPI.Comm):
    """The part of a communicator that is found by its native handle."""

    __slots__ = ()

    @classmethod
    def Create_keyval(
        cls,
        copy_fn: _Callback | bool | None = None,
        delete_fn: _Callback | bool | None = None,
        nopython: bool = False,
    ) -> int:
        """Return a new attribute key, with functions called for duplicates and when deleted."""
        return MPI.Comm.Create_keyval(
            _with_face(copy_fn),
            _with_face(delete_fn),
            nopython,
        )

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Callable[[MPI.Comm, int], None]) -> MPI.Errhandler:
        """Return a new error handler that calls a function with the communicator and the error."""

        @wraps(errhandler_fn)
        def with_face(comm: MPI.Comm, error: int) -> None:
            errhandler_fn(face_of(comm), error)

        return MPI.Comm.Create_errhandler(with_face)

    @classmethod
    def fromint(cls, arg: int, /) -> MPI.Comm:
        """Return the communicator with an integer handle."""
        return face_of(MPI.Comm.fromint(arg))

    @classmethod
    def f2py(cls, arg: int) -> MPI.Comm:
        """Return the communicator with a handle of Fortran."""
        return face_of(MPI.Comm.f2py(arg))

    @classmethod
    def fromhandle(cls, handle: int) -> MPI.Comm:
        """Return the communicator with a handle."""
        return face_of(MPI.Comm.fromhandle(handle))


_members_of: dict[int, CommunicatorMembers] = {}
"""The communicators that the program has made, by the handle of the native one.

An attribute would not do: callbacks at its deletion may run after the attribute is gone.
"""


def remember(members: CommunicatorMembers) -> None:
    """Register a membership by the handle of its native communicator."""
    _members_of[members.native.handle] = members
    if native_code.tokens is not None:
        native_code.tokens.add(members)


def remembered() -> list[CommunicatorMembers]:
    """Return the memberships of all communicators that the program has."""
    return list(_members_of.values())


def free_native(members: CommunicatorMembers) -> None:
    """Free the native communicator of a membership, and unregister it afterwards."""
    handle = members.native.handle
    let_looks_end()
    members.native.Free()
    if _members_of.get(handle) is members:
        del _members_of[handle]
    if native_code.tokens is not None:
        native_code.tokens.remove(handle)


def let_looks_end() -> None:
    """Wait until nobody asks native MPI about a call, which is soon."""
    with looking:
        pass


def face_of(native: MPI.Comm) -> MPI.Comm:
    """Return a communicator that mpi4py knows by its handle only as one of our classes."""
    nobody: MPI.Comm = null()
    if not native:
        return nobody
    if native == MPI.COMM_WORLD and world_is_grid():
        return predefined().comms["COMM_WORLD"]  # what code in C means by it
    kept = _members_of.get(native.handle)
    known = (one for one in predefined().comms.values() if one == native)
    found: MPI.Comm | None = wrap(kept) if kept is not None else next(known, None)
    ours: MPI.Comm = near(native) if found is None else found
    return ours


def _with_face(callback: _Callback | bool | None) -> Any:
    if not callable(callback):
        return callback

    @wraps(callback)
    def with_face(comm: MPI.Comm, keyval: int, value: Any) -> Any:
        return callback(face_of(comm), keyval, value)

    return with_face
