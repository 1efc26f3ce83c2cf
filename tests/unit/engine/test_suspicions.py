"""Who cannot reach whom: what is decided, what is withdrawn, what waits."""

from __future__ import annotations

from runtime.run.suspicions import Suspicions

A, B, C = "0:0:0#1", "0:1:0#1", "0:1:1#1"


def of_first_processes(_: str) -> int:
    return 1


def test_a_suspicion_by_or_about_a_process_whose_place_another_one_has_taken_is_dropped() -> None:
    now = {"0:0:0": 1, "0:1:0": 1}
    known = Suspicions(lambda rank: now[rank])
    known.add(A, B, "no way")
    known.add(B, A, "no way")
    assert known.is_due(A, B)
    now["0:1:0"] = 2
    assert not known.is_due(A, B)
    assert not known.is_due(B, A)


def test_a_suspicion_that_is_withdrawn_is_decided_only_if_it_is_told_again() -> None:
    known = Suspicions(of_first_processes)
    known.add(A, B, "no way")
    known.withdraw(A, B)
    assert not known.is_due(A, B)
    known.add(A, B, "no way")
    assert known.is_due(A, B)


def test_about_a_rank_that_is_stopped_nothing_is_decided_until_it_goes_on() -> None:
    known = Suspicions(of_first_processes)
    known.add(A, B, "no way")
    known.add(A, C, "no way")
    known.stopped("0:1:0")
    assert not known.is_due(A, B)
    assert known.is_due(A, C)
    assert known.goes_on("0:1:0") == [(A, B)]
    assert known.is_due(A, B)
    assert known.goes_on("0:1:0") == []


def test_the_one_whom_most_cannot_reach_is_to_blame_and_of_equals_the_later_one() -> None:
    known = Suspicions(of_first_processes)
    known.add(A, B, "no way")
    known.add(B, A, "no way")
    assert known.blamed(A, B) == "0:1:0"
    known.add(A, C, "no way")
    assert known.blamed(A, B) == "0:0:0"
