"""Where the collectives of a communicator begin: on the grid, or in native MPI."""

from __future__ import annotations

from runtime.later import Later

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from mpi4py import MPI

    from runtime.mpi.collectives import state
    from runtime.mpi.progress.membership import Membership
else:
    state = Later("runtime.mpi.collectives.state")


def call_on(comm: MPI.Comm) -> state.Call | None:
    """Return a call on a communicator of the grid, or None for one that native MPI serves."""
    members: Membership | None = getattr(comm, "_members", None)
    if members is None:
        return None
    return state.Call(comm, members.collecting or state.state_of(members))
