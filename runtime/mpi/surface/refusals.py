"""Calls that are impossible over several MPIs: they raise, and name alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.process.options import hand_down
from runtime.mpi.process.place import here
from runtime.mpi.process.reaching_out import reaches_out_by
from runtime.mpi.values.handles import named_like

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


def not_on_the_grid(call: str, instead: str) -> NotOnTheGrid:
    """Return the error for a call on a communicator with members in several clusters."""
    if here().has_replicas:
        return NotOnTheGrid(
            f"{call} is not possible where ranks have replicas",
            cure="Use messages and collectives there",
        )
    return NotOnTheGrid(f"{call} is not possible over several clusters", cure=instead)


class RefusedCalls:
    """The part of a communicator that raises `NotOnTheGrid`."""

    __slots__ = ()
    _members: CommunicatorMembers | None


@contextmanager
def _told_of_manager(call: str) -> Iterator[None]:
    """Say why the process manager of a cluster starts no more processes, where it is `gcm-pmi`."""
    try:
        yield
    except MPI.Exception as fault:
        if "PMI_Spawn" not in str(fault):
            raise
        error = MPI.Exception(MPI.ERR_SPAWN)
        error.add_note(
            f"{call} is not possible here: gcm-pmi has started the ranks of this cluster, and"
            " starts no more. Let the descriptor start all processes; or give the cluster"
            " <mpi options=...>, so that its own mpiexec starts the ranks"
        )
        raise error from None


def _refusal(name: str, instead: str) -> Callable[..., Any]:
    def refuse(self: RefusedCalls, *args: Any, **kwargs: Any) -> Any:
        if self._members is None and not here().has_replicas:
            reaches_out_by(name)
            with _told_of_manager(name):
                made = getattr(super(RefusedCalls, self), name)(*args, **kwargs)
            return hand_down(self, made) if isinstance(made, MPI.Comm) else made  # type: ignore[arg-type]  # it is a part of one
        raise not_on_the_grid(name, instead)

    return named_like(getattr(MPI.Cartcomm, name), refuse)


for _call in calls.of_kind("process").values():
    if _call.grid == calls.REFUSED:
        setattr(RefusedCalls, _call.name, _refusal(_call.name, _call.cure))
