from __future__ import annotations

import pytest

from runtime.lifecycle.events import (
    Begin,
    Effect,
    Event,
    Finish,
    Go,
    Halt,
    JobEnded,
    PlaceClosed,
    RankReady,
    Show,
    Start,
    StepFailed,
    StepUp,
    Stop,
)
from runtime.lifecycle.run_life import RunPhase
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.run_plan import RunPlan
from runtime.lifecycle.state import RunState
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName

FRONT_END = StepName(StepKind.FRONT_END, "0:0")
RANKS = StepName(StepKind.RANKS, "0:0")
START = StepName(StepKind.START)
FETCH = StepName(StepKind.FETCH, "0:0")
RUN_PLAN = RunPlan(
    steps={
        FRONT_END: frozenset(),
        RANKS: frozenset({FRONT_END}),
        START: frozenset({RANKS}),
    },
    start=START,
    places={FRONT_END: "0:0"},
    ranks={"0:0": (RankName(0, 0, 0),)},
    paths={FRONT_END: "/c", RANKS: "/c", START: "/grid", FETCH: "/c"},
    rank_paths={RankName(0, 0, 0): "/c/wrapper0"},
    closing={FETCH: "0:0"},
)
UP = (Begin(), StepUp(FRONT_END), StepUp(RANKS))


def death(code: int) -> RankDeath:
    return RankDeath(RankName(0, 0, 0), Observation(Witness.PARENT, code))


def run(state: RunState, *events: Event) -> list[Effect]:
    """Let all of it happen; return what the last event led to."""
    found: list[Effect] = []
    for event in events:
        found = state.handle(event, 0.0)
    return found


def test_a_steered_run_goes_on_when_its_codes_have_ended() -> None:
    state = RunState(RunParts(RUN_PLAN, steered=True))
    assert Show("/c/wrapper0", "running") in run(state, *UP)
    ended = run(state, death(3), JobEnded("0:0", 3, "it failed"))
    assert ended == [Show("/c", "failed", "exit code 3")]
    assert (state.run.life.phase, state.run.clock.deadline, state.run.errors) == (
        RunPhase.RUNNING,
        None,
        [],
    )
    assert {one.who: one.code for one in state.run.deaths.values()} == {"0:0:0": 3}


def test_an_idle_run_begins_without_ranks() -> None:
    state = RunState(RunParts(RUN_PLAN, steered=True, idle=True))
    assert run(state, *UP) == [Show("/c", "up", "ranks"), Go()]
    assert run(state, Halt()) == [Stop()]


def test_files_come_home_before_a_steered_run_ends() -> None:
    state = RunState(RunParts(RUN_PLAN, steered=True))
    run(state, *UP, JobEnded("0:0", 0))
    assert run(state, Halt()) == [Stop()]
    assert run(state, PlaceClosed("0:0"))[-1] == Start(FETCH)
    assert run(state, StepUp(FETCH)) == [Finish(0)]


def test_a_steered_run_that_is_halted_stops_what_still_runs() -> None:
    state = RunState(RunParts(RUN_PLAN, steered=True))
    run(state, *UP)
    assert run(state, Halt()) == [Stop()]
    assert run(state, Halt()) == []


def test_a_code_that_is_started_again_has_to_end_again() -> None:
    state = RunState(RunParts(RUN_PLAN, steered=True))
    run(state, *UP, death(1), JobEnded("0:0", 1))
    assert run(state, RankReady(RankName(0, 0, 0))) == [Show("/c/wrapper0", "running")]
    assert {rank: one.code for rank, one in state.run.deaths.items()} == {}
    assert run(state, StepUp(RANKS)) == []
    assert run(state, Halt()) == [Stop()]


def test_a_code_that_cannot_be_started_again_does_not_end_the_run() -> None:
    state = RunState(RunParts(RUN_PLAN, steered=True))
    run(state, *UP, JobEnded("0:0", 0))
    failed = run(state, StepFailed(RANKS, "there is no mpiexec"))
    assert failed == [Show("/c", "failed", "ranks")]
    assert state.run.life.phase is RunPhase.RUNNING


@pytest.mark.parametrize("code", [0, 4])
def test_a_run_that_is_not_steered_ends_with_its_codes(code: int) -> None:
    state = RunState(RunParts(RUN_PLAN))
    run(state, *UP, death(code))
    assert run(state, JobEnded("0:0", code))[-1] == Stop()
    assert run(state, PlaceClosed("0:0"))[-1] == Start(FETCH)
    assert run(state, StepUp(FETCH)) == [Finish(code)]
