"""The lives of a run, its clusters and its ranks: what is final, what is logged, what is shown."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest

from runtime.lifecycle import cluster_life, rank_life, run_life
from runtime.lifecycle.cluster_life import ClusterLife, JobEvent, JobStage, PlaceEvent, PlaceStage
from runtime.lifecycle.events import JobEnded
from runtime.lifecycle.rank_life import ENDS, RankEvent, RankLife, RankStage
from runtime.lifecycle.run_life import RunEvent, RunLife, RunStage
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.state import RunState
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.rank_name import RankName
from tests.unit.lifecycle.test_run_state import TIMEOUTS, UP, death, play, read, run_plan

TABLES: dict[str, tuple[Mapping[tuple[Any, Any], Any], StrEnum]] = {
    "rank": (rank_life.TRANSITIONS, RankStage.PLANNED),
    "place": (cluster_life.PLACE, PlaceStage.ABSENT),
    "job": (cluster_life.JOB, JobStage.IDLE),
    "results": (cluster_life.RESULTS, cluster_life.ResultsStage.THERE),
    "run": (run_life.TRANSITIONS, RunStage.PLANNED),
}


@pytest.mark.parametrize("life", TABLES)
def test_every_state_of_a_life_can_be_reached_from_its_first_one(life: str) -> None:
    table, first = TABLES[life]
    reached, left = {first}, [first]
    while left:
        state = left.pop()
        new = {after for (before, _), after in table.items() if before is state} - reached
        reached |= new
        left += new
    assert reached == set(type(first))


def test_what_is_over_is_over() -> None:
    assert not [
        pair for pair in run_life.TRANSITIONS if pair[0] in (RunStage.DONE, RunStage.FAILED)
    ]
    after = {event for before, event in cluster_life.PLACE if before is PlaceStage.LOST}
    assert after == {PlaceEvent.OPENED}  # by another front-end
    from_ends = {event for before, event in rank_life.TRANSITIONS if before in ENDS}
    assert RankEvent.RELEASED not in from_ends


def test_an_event_without_a_row_changes_nothing_and_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    run = RunLife()
    run.advance(RunEvent.STOPPED)
    assert (run.stage, caplog.messages) == (RunStage.PLANNED, [])


def test_a_death_that_supersedes_another_one_takes_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    name = RankName(0, 0, 1)
    rank = RankLife(name, "rank 1 (a/b 1)", RankStage.RUNNING)
    rank.die(RankDeath(name, Observation(Witness.RANK, 0)), is_kept=True)
    later = RankDeath(name, Observation(Witness.PARENT, 139, 11), supersedes=True)
    rank.die(later, is_kept=True)
    assert (rank.stage, rank.death) == (RankStage.FAILED, later)
    assert caplog.messages == [
        "rank 1 (a/b 1): running -> done, ended",
        "rank 1 (a/b 1): done -> failed, as more is known: was killed by SIGSEGV",
    ]


def test_each_change_of_a_run_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    machine = RunState(RunParts(run_plan("0:0", "1:0"), TIMEOUTS))
    play(machine, UP)
    caplog.set_level(logging.INFO)
    machine.handle(death("0:0:1", 7), 50)
    machine.handle(JobEnded("0:0", 7), 51)
    assert caplog.messages == [
        "0:0:1: running -> failed, ended with exit code 7",
        "the run: running -> settling, something has failed",
        "/0:0: job: running -> ended, it has ended with code 7",
    ]


def test_the_job_of_a_cluster_that_goes_on_is_kept_for_ranks_in_place_of_lost_ones() -> None:
    ranks = tuple(RankLife(RankName(0, 0, one), "", RankStage.RUNNING) for one in (0, 1))
    cluster = ClusterLife("0:0", "a/b", ranks, goes_on=True)
    cluster.advance_job(JobEvent.STARTED)
    cluster.advance_place(PlaceEvent.OPENED)
    ranks[0].die(death("0:0:0", 7), is_kept=True)
    assert (cluster.runs, cluster.is_kept) == (True, False)
    ranks[1].die(death("0:0:1", 0), is_kept=True)
    assert cluster.is_kept
    ranks[0].restart()
    assert (cluster.runs, cluster.is_kept, cluster.living) == (True, False, 2)


def test_a_rank_that_something_else_has_ended_is_shown_as_stopped() -> None:
    machine = RunState(RunParts(run_plan("0:0"), TIMEOUTS))
    for event in ("Begin", "StepUp front-end:0:0", "StepUp ranks:0:0", "StepUp handshake:grid"):
        machine.handle(read(f"> {event}")[1], 0)
    assert machine.run.life_of("0:0:1") == "started"
    observed = Observation(Witness.PARENT, 143, 15)
    machine.handle(RankDeath(RankName(0, 0, 1), observed, after="0:0:0"), 1)
    assert (machine.run.life_of("0:0:1"), machine.run.deaths) == ("stopped", {})
