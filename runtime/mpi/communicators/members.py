"""The members of any communicator, of the grid or native."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.communicators.groups import members_of, spans_clusters
from runtime.mpi.errors import refuse
from runtime.mpi.process.place import here

if TYPE_CHECKING:
    from runtime.mpi.communicators.group_algebra import Members
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers


def members_behind(comm: MPI.Comm) -> CommunicatorMembers | None:
    """Return the members of a communicator of the grid; None for a native one of any class."""
    members: CommunicatorMembers | None = getattr(comm, "_members", None)
    return members


def everybody_in(members: CommunicatorMembers) -> Members:
    """Return the members of all groups, without gaps."""
    if members.gaps:
        return tuple(one for one in members.group if one not in members.gaps)
    return members.group + (members.peers if members.is_inter else ())


def indexes(comm: MPI.Comm) -> tuple[int, ...]:
    """Return the ranks in COMM_GRID of the members of any communicator, of its own group."""
    members = members_behind(comm)
    if members is not None:
        return members.group
    own, world = MPI.Comm.Get_group(comm), MPI.COMM_WORLD.Get_group()
    first = here().first
    try:
        ranks = MPI.Group.Translate_ranks(own, list(range(own.Get_size())), world)
        return tuple(first + rank for rank in ranks)
    finally:
        own.Free()
        world.Free()


def engine_of(*comms: MPI.Comm) -> Engine | None:
    """Return the engine of the first of some communicators that has one."""
    for comm in comms:
        members = members_behind(comm)
        if members is not None:
            return members.engine
    return None


def indexes_of(comm: MPI.Comm, engine: Engine) -> Members:
    """Return the members of the own group of any communicator."""
    members = members_behind(comm)
    return members_of(MPI.Comm.Get_group(comm), engine) if members is None else members.group


def groups_of(comm: MPI.Comm, engine: Engine) -> list[Members]:
    """Return the own group of any communicator, and the group that ranks in calls refer to."""
    members = members_behind(comm)
    if members is not None:
        return [members.group, members.peers]
    mine = indexes_of(comm, engine)
    if not isinstance(comm, MPI.Intercomm):
        return [mine, mine]
    return [mine, members_of(MPI.Intercomm.Get_remote_group(comm), engine)]


def checked_group(comm: MPI.Comm, members: CommunicatorMembers, group: MPI.Group) -> Members:
    """Return the members of a group; raises MPI.Exception if one is not in the communicator."""
    chosen = members_of(group, members.engine)
    if not set(chosen) <= set(members.group):
        refuse(comm, MPI.ERR_GROUP)
    return chosen


def checked_native(comm: MPI.Comm, group: MPI.Group) -> MPI.Group:
    """Return a group for a native communicator; raises MPI.Exception if others are in it."""
    if spans_clusters(group):
        refuse(comm, MPI.ERR_GROUP)
    return group
