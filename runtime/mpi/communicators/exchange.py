"""What members of a communicator exchange while they make another one."""

from __future__ import annotations

from mpi4py import MPI

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from typing import TypeVar

    from runtime.mpi.progress.membership import CommunicatorMembers

    _T = TypeVar("_T")


def all_of(comm: MPI.Comm, mine: _T) -> list[_T]:
    """Return the values of all members of a communicator of one group, by rank."""
    said: list[_T] = comm.allgather(mine)
    return said


def both_of(comm: MPI.Comm, members: CommunicatorMembers, mine: _T) -> tuple[list[_T], list[_T]]:
    """Return the values of both groups of an intercommunicator: the own one, and the other."""
    theirs: list[_T] = comm.allgather(mine)
    ours: list[_T] = []
    for mine_first in (True, False):
        if (members.group < members.peers) is mine_first:
            comm.bcast(theirs, MPI.ROOT if members.rank == 0 else MPI.PROC_NULL)
        else:
            ours = comm.bcast(None, 0)
    return ours, theirs
