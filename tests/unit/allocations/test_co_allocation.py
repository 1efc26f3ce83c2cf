"""When clusters behind queues ask, hold, give back and begin: the planner, with the time given."""

from __future__ import annotations

import math

import pytest

from benchmarks.co_allocation import WAITS, simulate
from runtime.allocations.co_allocation import (
    AskingWay,
    CoAllocation,
    GiveBack,
    QueueRequest,
    Submit,
    UseNodes,
)

A1, A2, A3 = (QueueRequest("a", number) for number in (1, 2, 3))
B1, B2 = (QueueRequest("b", number) for number in (1, 2))


@pytest.fixture
def planner() -> CoAllocation:
    """Two clusters that have asked at 0, and may be idle for 300 s."""
    made = CoAllocation({"a": 300.0, "b": 300.0}, lambda: 0.5)
    assert made.ask("a", 0.0) == [Submit(A1)]
    assert made.ask("b", 0.0) == [Submit(B1)]
    return made


def test_all_begin_once_the_last_one_has_its_nodes(planner: CoAllocation) -> None:
    assert planner.granted(B1, 10.0) == []
    assert (planner.missing(), planner.wakes_at) == (["a"], 310.0)
    assert planner.granted(A1, 309.0) == [UseNodes((A1, B1))]
    assert (planner.has_begun, planner.wakes_at) == (True, None)


def test_a_cluster_that_has_lost_its_nodes_asks_again_and_comes_late(planner: CoAllocation) -> None:
    planner.granted(B1, 10.0)
    planner.granted(A1, 20.0)
    planner.lost("a")
    assert (planner.missing(), planner.wakes_at) == (["a"], None)
    assert planner.ask("a", 100.0) == [Submit(A2)]
    assert planner.granted(A2, 900.0) == [UseNodes((A2,), late=True)]


def test_who_is_given_up_while_it_holds_nodes_is_not_begun_with(planner: CoAllocation) -> None:
    planner.granted(A1, 5.0)
    assert planner.give_up("a") == [GiveBack(A1)]
    assert planner.granted(B1, 6.0) == []
    assert not planner.has_begun


def test_who_is_given_up_is_not_asked_for_again_when_the_others_have_their_nodes(
    planner: CoAllocation,
) -> None:
    planner.granted(A1, 5.0)
    planner.wake(305.0)
    assert planner.give_up("a") == []
    assert planner.granted(B1, 5000.0) == [Submit(B2)]
    assert planner.wake(6000.0) == [GiveBack(B1)]


def test_who_is_given_up_in_the_queue_takes_its_jobs_back(planner: CoAllocation) -> None:
    assert planner.give_up("a") == [GiveBack(A1)]
    assert planner.granted(A1, 5.0) == []
    planner.lost("a")
    assert planner.ask("a", 6.0) == [Submit(A2)]
    assert planner.granted(B1, 7.0) == []
    assert planner.granted(A2, 8.0) == [UseNodes((A2, B1))]


def test_a_quick_queue_is_asked_again_when_the_others_have_their_nodes(
    planner: CoAllocation,
) -> None:
    planner.granted(A1, 5.0)
    assert planner.wake(304.9) == []
    assert planner.wake(305.0) == [GiveBack(A1)]
    assert planner.wakes_at is None
    assert planner.plan_of("a") == "it asks again when the others have their nodes"
    assert planner.granted(B1, 5000.0) == [Submit(A2), Submit(B2)]
    assert planner.granted(A2, 5004.0) == [GiveBack(B2), UseNodes((A2, B1))]


def test_a_slow_queue_has_another_job_while_its_nodes_wait(planner: CoAllocation) -> None:
    assert planner.granted(A1, 400.0) == [Submit(A2)]
    assert planner.wake(700.0) == [GiveBack(A1)]
    assert planner.plan_of("a") == "another job is in the queue already"
    assert planner.granted(B1, 800.0) == [Submit(B2)]
    assert planner.granted(A2, 900.0) == [GiveBack(B2), UseNodes((A2, B1))]


def test_the_newer_nodes_of_a_cluster_are_kept_and_the_older_given_back(
    planner: CoAllocation,
) -> None:
    planner.granted(A1, 400.0)
    assert planner.granted(A2, 500.0) == [GiveBack(A1)]
    assert planner.wakes_at == 800.0


def test_further_jobs_come_after_pauses_that_double(planner: CoAllocation) -> None:
    assert planner.granted(A1, 400.0) == [Submit(A2)]
    assert planner.granted(A2, 800.0) == [GiveBack(A1)]  # it has returned nodes once
    assert planner.wakes_at == 1100.0
    assert planner.wake(1100.0) == [GiveBack(A2), Submit(A3)]
    assert planner.granted(A3, 1500.0) == []  # twice
    assert planner.wake(1800.0) == [GiveBack(A3)]
    assert planner.plan_of("a") == "it asks again after a pause"
    assert (planner.wakes_at, planner.wake(2099.0)) == (2100.0, [])
    assert planner.wake(2100.0) == [Submit(QueueRequest("a", 4))]


def test_a_request_that_was_cancelled_at_the_same_time_counts_no_more(
    planner: CoAllocation,
) -> None:
    planner.granted(A1, 400.0)
    planner.granted(B1, 500.0)  # all have begun, A2 was cancelled
    assert planner.granted(A2, 500.1) == []


def test_a_cluster_can_do_without_a_further_request_but_not_without_its_only_one(
    planner: CoAllocation,
) -> None:
    planner.granted(A1, 400.0)
    assert planner.withdrawn(A2)
    assert not planner.withdrawn(B1)


def test_nodes_of_a_job_of_the_users_own_are_never_given_back() -> None:
    made = CoAllocation({"a": math.inf, "b": 300.0}, lambda: 0.5)
    made.ask("a", 0.0)
    made.ask("b", 0.0)
    assert made.granted(A1, 1000.0) == []
    assert made.wake(1e9) == []
    assert made.wakes_at == math.inf


def test_a_cluster_that_asks_late_is_waited_for() -> None:
    made = CoAllocation({"a": 300.0, "b": 300.0}, lambda: 0.5)
    made.ask("a", 0.0)
    assert made.granted(A1, 10.0) == []
    made.ask("b", 20.0)
    assert made.granted(B1, 30.0) == [UseNodes((A1, B1))]


@pytest.fixture
def early() -> CoAllocation:
    """Two clusters that have asked, one of which is enough to begin with."""
    made = CoAllocation({"a": 300.0, "b": 300.0}, lambda: 0.5, enough=1)
    made.ask("a", 0.0)
    made.ask("b", 0.0)
    return made


def test_a_run_begins_with_enough_clusters_and_uses_the_nodes_of_the_others_when_they_come(
    early: CoAllocation,
) -> None:
    assert early.granted(B1, 10.0) == [UseNodes((B1,))]
    assert (early.has_begun, early.missing(), early.wakes_at) == (True, ["a"], None)
    assert early.wake(1e6) == []
    assert early.granted(A1, 1e6) == [UseNodes((A1,), late=True)]


def test_who_is_missing_when_a_run_begins_has_one_job_in_its_queue() -> None:
    made = CoAllocation(dict.fromkeys("abc", 300.0), lambda: 0.5, enough=2)
    for one in "abc":
        made.ask(one, 0.0)
    c1 = QueueRequest("c", 1)
    made.granted(A1, 5.0)
    assert made.wake(305.0) == [GiveBack(A1)]  # a quick queue, which rests
    assert made.granted(B1, 1000.0) == [Submit(B2)]
    assert made.granted(c1, 1001.0) == [
        GiveBack(B2), Submit(A2), UseNodes((B1, c1)),
    ]  # fmt: skip
    assert not made.withdrawn(A2)


def test_a_run_that_waits_for_no_queue_has_begun_before_any_answers() -> None:
    made = CoAllocation({"a": 300.0}, lambda: 0.5, enough=0)
    assert made.has_begun
    assert made.ask("a", 0.0) == [Submit(A1)]
    assert made.granted(A1, 400.0) == [UseNodes((A1,), late=True)]


@pytest.mark.parametrize("seed", range(5))
def test_who_may_miss_one_cluster_begins_no_later(seed: int) -> None:
    begun = [
        simulate(WAITS["lognormal"], 4, AskingWay.HOLD, math.inf, seed, late=late).now
        for late in (0, 1)
    ]
    assert begun[1] <= begun[0]


@pytest.fixture
def reserving() -> CoAllocation:
    """Two clusters that have asked for reservations."""
    made = CoAllocation({"a": 300.0, "b": 300.0}, lambda: 0.5, AskingWay.RESERVE)
    assert made.ask("a", 0.0) == []  # the other one's login node does not answer yet
    assert made.ask("b", 5.0) == [Submit(A1, 60.0), Submit(B1, 60.0)]
    return made


def test_all_reserve_nodes_from_the_same_time_on_and_ask_for_nothing_meanwhile(
    reserving: CoAllocation,
) -> None:
    assert reserving.reserved(A1, 6.0) == []
    assert reserving.reserved(B1, 7.0) == []
    assert reserving.wakes_at is None
    assert reserving.granted(A1, 66.0) == []
    assert reserving.granted(B1, 67.0) == [UseNodes((A1, B1))]


def test_a_refusal_makes_all_ask_for_the_time_that_it_tells(reserving: CoAllocation) -> None:
    assert reserving.refused(A1, 500.0, 6.0) == []
    assert reserving.reserved(B1, 7.0) == [GiveBack(B1), Submit(A2, 500.0), Submit(B2, 500.0)]
    assert reserving.plan_of("a") == "another job is in the queue already"
    assert reserving.granted(B1, 65.0) == []  # it was given back at the same time


def test_where_no_time_is_told_the_start_is_half_as_far_again(reserving: CoAllocation) -> None:
    reserving.refused(A1, 0.0, 6.0)
    assert reserving.refused(B1, 70.0, 7.0) == [Submit(A2, 91.0), Submit(B2, 91.0)]


@pytest.mark.parametrize("earliest", [None, 1e9])
def test_who_reserves_nothing_in_time_makes_all_ask_their_queues(
    reserving: CoAllocation, earliest: float | None
) -> None:
    reserving.reserved(A1, 6.0)
    assert reserving.refused(B1, earliest, 7.0) == [GiveBack(A1), Submit(A2), Submit(B2)]
    assert reserving.granted(B2, 2000.0) == [Submit(QueueRequest("b", 3))]  # a slow queue


def test_who_does_not_come_at_the_common_start_makes_all_reserve_again(
    reserving: CoAllocation,
) -> None:
    reserving.reserved(A1, 6.0)
    reserving.reserved(B1, 7.0)
    reserving.granted(A1, 66.0)
    assert reserving.wakes_at == 366.0
    assert reserving.wake(366.0) == [
        GiveBack(A1), GiveBack(B1), Submit(A2, 60.0), Submit(B2, 60.0),
    ]  # fmt: skip


@pytest.mark.parametrize("way", AskingWay)
@pytest.mark.parametrize("waits", WAITS)
def test_nothing_is_idle_for_longer_and_no_job_is_left(waits: str, way: AskingWay) -> None:
    for seed in range(20):  # each comes to its start, so somebody is always in a queue
        seen = simulate(WAITS[waits], 2, way, 900.0, seed)
        assert [one.cluster for one in seen.chosen] == ["c0", "c1"]
        assert max(seen.held.values()) <= 900.001
        assert (seen.queued, seen.holding) == ([], {})


def test_the_same_seed_gives_the_same_start() -> None:
    def start(seed: int) -> float:
        return simulate(WAITS["lognormal"], 3, AskingWay.CHOSEN, 1800.0, seed).now

    assert start(7) == start(7) != start(8)


@pytest.mark.parametrize("seed", range(5))
def test_quick_queues_cost_less_where_they_wait_for_the_full_one(seed: int) -> None:
    def idle(way: AskingWay) -> float:
        return sum(simulate(WAITS["one full"], 4, way, 300.0, seed).held.values())

    assert idle(AskingWay.CHOSEN) <= idle(AskingWay.HOLD)
