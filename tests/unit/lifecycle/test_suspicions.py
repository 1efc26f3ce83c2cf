"""Who cannot reach whom: what is decided, what is withdrawn, what waits."""

from __future__ import annotations

from runtime.lifecycle.suspicions import Suspicions
from runtime.rank_name import RankName

A, B, C = (RankName.parse(one) for one in ("0:0:0#1", "0:1:0#1", "0:1:1#1"))


def of_first_processes(_: RankName) -> int:
    return 1


def test_a_suspicion_by_or_about_a_process_whose_place_another_one_has_taken_is_dropped() -> None:
    now = {A.place: 1, B.place: 1}
    known = Suspicions(lambda rank: now[rank.place])
    there, back = known.add(A, B, "no way"), known.add(B, A, "no way")
    assert known.is_due(there)
    now[B.place] = 2
    assert not known.is_due(there)
    assert not known.is_due(back)


def test_nothing_told_of_a_rank_counts_for_the_one_that_its_code_is_started_again_with() -> None:
    known = Suspicions(of_first_processes)
    there, back = known.add(A, B, "no way"), known.add(B, A, "no way")
    other = known.add(A, C, "no way")
    known.begins(B.place)
    assert [known.is_due(one) for one in (there, back, other)] == [False, False, True]


def test_a_suspicion_that_is_withdrawn_and_told_again_is_another_one() -> None:
    known = Suspicions(of_first_processes)
    first = known.add(A, B, "no way")
    known.withdraw(A, B)
    assert not known.is_due(first)
    again = known.add(A, B, "no way")
    assert not known.is_due(first)
    assert known.is_due(again)


def test_about_a_rank_that_is_stopped_nothing_is_decided_until_a_while_after_it_goes_on() -> None:
    known = Suspicions(of_first_processes)
    of_stopped, of_other = known.add(A, B, "no way"), known.add(A, C, "no way")
    known.stopped(B.place)
    assert not known.is_due(of_stopped)
    assert known.is_due(of_other)
    (later,) = known.goes_on(B.place)
    assert (later.by, later.rank, later.why) == (A, B, "no way")
    assert not known.is_due(of_stopped)
    assert known.is_due(later)
    assert known.goes_on(B.place) == []


def test_the_one_whom_most_cannot_reach_is_to_blame_and_of_equals_the_later_one() -> None:
    known = Suspicions(of_first_processes)
    known.add(A, B, "no way")
    one = known.add(B, A, "no way")
    assert known.blamed(one) == B.place
    known.add(A, C, "no way")
    assert known.blamed(one) == A.place
