"""Which class a communicator gets.

The classes are in `runtime.mpi.surface.communicator_classes`, which imports the modules that make
them.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers

_ours: dict[type[MPI.Comm], type[Any]] = {}
"""Our classes, by the mpi4py classes they stand for."""

_OF_TOPOLOGY: dict[int, type[MPI.Comm]] = {
    MPI.CART: MPI.Cartcomm,
    MPI.GRAPH: MPI.Graphcomm,
    MPI.DIST_GRAPH: MPI.Distgraphcomm,
}


def use(*classes: Any) -> None:
    """Set the classes of communicators, each of which names the one it stands for."""
    _ours.update({one._stands_for: one for one in classes})


def wrap(members: CommunicatorMembers, kind: type[Any] | None = None) -> Any:
    """Return the communicator of a membership; it owns `members.native`.

    Its class is the one for the topology, unless `kind` names one, such as a user's own.
    """
    comm: Any = MPI.Comm.__new__(kind or class_of(members), members.native)
    comm._members = members
    return comm


def give_handle(comm: MPI.Comm, native: MPI.Comm) -> None:
    """Let a communicator have the handle of another one from now on."""
    ctypes.memmove(MPI._addressof(comm), MPI._addressof(native), MPI._sizeof(MPI.Comm))


def near(native: MPI.Comm) -> Any:
    """Return a native communicator as one of our classes; all its members share a cluster."""
    return _ours[type(native)](native)


@cache
def null() -> Any:
    """Return COMM_NULL, which is of our class: Cython functions for a `Comm` take no other."""
    return _ours[MPI.Comm]()


def standing_for(kind: type[MPI.Comm]) -> type[Any]:
    """Return our class that stands for one of mpi4py."""
    return _ours[kind]


def class_of(members: CommunicatorMembers) -> type[Any]:
    """Return the class for the communicator of a membership."""
    if members.is_inter:
        return _ours[MPI.Intercomm]
    topology = members.topology
    return _ours[MPI.Intracomm if topology is None else _OF_TOPOLOGY[topology.kind]]


def wanted_by(kind: type[Any]) -> type[MPI.Comm]:
    """Return the class of mpi4py that one of ours, or a user's subclass of it, stands for."""
    native: type[MPI.Comm] = next(base for base in kind.__mro__ if base in _ours)
    return native
