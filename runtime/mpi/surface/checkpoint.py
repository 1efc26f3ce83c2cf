"""Where lost replicas join that are started again: the program's own hook."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, TypeVar

from mpi4py import MPI

from runtime.mpi.collectives.state import state_of
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.process.counted_output import counted_output
from runtime.mpi.progress.membership import communicators
from runtime.mpi.progress.predefined import predefined

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers

State = TypeVar("State")


def Checkpoint(state: State) -> State:
    """Let replicas join that were started again in place of lost ones; return the state.

    All ranks call it at the same places of the program. There nothing may be under way: what was
    sent has been received, no request is open, and communicators that the program has made are
    freed. The state is all that the program needs to go on, and can be pickled. A process that was
    started again calls it before anything else of MPI, and gets the state of another replica of its
    rank at that moment. Without `restart="yes"` it does nothing.

        step, cells = MPI.Checkpoint((0, None))
        if cells is None:
            cells = begin()
        while step < 100:
            cells, step = advance(cells), step + 1
            step, cells = MPI.Checkpoint((step, cells))

    Raises:
        NotOnTheGrid: there is a communicator that the program has made.
        GridError: this process was started again, and no other replica of its rank is left.
    """
    known = predefined()
    engine = known.engine
    decisions = None if engine is None else engine.decisions
    if engine is None or decisions is None or decisions.newcomers is None:
        return state
    newcomers = decisions.newcomers
    if decisions.is_joining:
        (clock, counts, written), given = newcomers.join()
        with engine.lock:
            decisions.clock = clock
            _go_on(engine, counts)
        counted_output().go_on(*written)
        joined: State = pickle.load(given)
        return joined
    _check_communicators(engine)
    world = known.comms["COMM_GRID"]
    chosen = decisions.choose("newcomers", newcomers.ready) if world.rank == 0 else ()
    chosen = world.bcast(chosen)
    if chosen:
        newcomers.await_all(chosen)
        is_of_this_rank = newcomers.is_of_this_rank(chosen)
        kept = pickle.dumps(state, protocol=5) if is_of_this_rank else b""
        written = counted_output().so_far()
        with engine.lock:
            newcomers.let_join(chosen, (decisions.clock, _counts(engine), written), kept)
    return state


def _check_communicators(engine: Engine) -> None:
    """Refuse communicators of the program, which one that joins does not have."""
    first = {m.context for m in _first_ones()}
    made = [m for m in communicators(engine) if m.context not in first]
    if made:
        names = ", ".join(m.native.name or "one without a name" for m in made)
        raise NotOnTheGrid(
            f"MPI.Checkpoint was called while the program has communicators of its own: {names}",
            cure="Free them before it and make them again after it: a replica that is started again"
            " has those only that are there from the start",
        )


def _first_ones() -> list[CommunicatorMembers]:
    """Return the communicators over several processes that are there from the start."""
    found = (members_behind(comm) for comm in predefined().comms.values() if comm != MPI.COMM_NULL)
    return [m for m in found if m is not None]


def _counts(engine: Engine) -> dict[bytes, tuple[int, int]]:
    """Return by its context how many collectives and children each communicator has had."""
    return {m.context: (state_of(m).mismatches.count, m.children) for m in communicators(engine)}


def _go_on(engine: Engine, counts: dict[bytes, tuple[int, int]]) -> None:
    for m in communicators(engine):
        turns, m.children = counts[m.context]
        state_of(m).mismatches.go_on(turns)
