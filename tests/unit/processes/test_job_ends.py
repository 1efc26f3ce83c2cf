"""How the ranks of a job ended: scripts of what was said and seen, and what it comes to."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from runtime.exit_codes import LOST
from runtime.launchers.base import Exit
from runtime.machine.deaths import BY_REQUEST, Observation, RankDeath, Witness
from runtime.processes.front_end.job_ends import IN_TIME, JobEnds, crash_of, sight_of
from runtime.rank_name import RankName

A, B = "0:0:0", "0:0:1"


def seen(*, code: int = 0, signal: int = 0, at: float = 1.0, crash: str = "") -> Observation:
    return sight_of(signal or code << 8, at, crash)


def word(code: int, why: str = "", exception: str = "") -> Observation:
    return Observation(Witness.RANK, code, why=why, exception=exception)


def brief(end: RankDeath | None) -> tuple[str, int, int, str] | None:
    return None if end is None else (end.who, end.code, end.observed.signal, end.after)


def over(ends: JobEnds, ended: Exit, **more: Any) -> tuple[list[object], str]:
    found, fault = ends.job_over(ended, "its words", [A, B], **more)
    return [brief(one) for one in found], fault


def test_the_word_of_a_rank_counts_and_not_how_its_process_was_ended_then() -> None:
    ends = JobEnds("0:0")
    said = ends.program_ended(A, word(1, exception="ValueError: no"))
    assert brief(said) == (A, 1, 0, "")
    assert ends.exited(A, seen(signal=9, at=2.0), is_connected=True) is None


def test_the_end_of_a_rank_that_was_started_again_is_told_like_its_first_one() -> None:
    ends = JobEnds("0:0")
    ends.left(A)
    assert brief(ends.exited(A, seen(code=7), is_connected=False)) == (A, 7, 0, "")
    before = ends.are_some_lost, ends.known
    ends.again(A)
    assert (before, ends.are_some_lost, ends.known) == ((True, {A}), False, set())
    ends.left(A)
    assert brief(ends.exited(A, seen(signal=9), is_connected=False)) == (A, 137, 9, "")


@pytest.mark.parametrize("first", ["left", "saw"])
def test_a_rank_that_dies_without_a_word_ended_as_its_parent_saw(first: str) -> None:
    ends = JobEnds("0:0")
    death = seen(signal=11, crash="line 8 in die")
    if first == "left":
        assert ends.left(A) is None
        end = ends.exited(A, death, is_connected=False)
    else:
        assert ends.exited(A, death, is_connected=True) is None
        end = ends.left(A)
    assert brief(end) == (A, 139, 11, "")
    assert end is not None
    assert end.observed.traceback == "line 8 in die"


def test_what_is_still_on_its_way_from_a_rank_counts_more_than_what_its_parent_saw() -> None:
    ends = JobEnds("0:0")
    assert ends.exited(A, seen(code=3), is_connected=True) is None
    assert brief(ends.program_ended(A, word(3))) == (A, 3, 0, "")
    assert ends.give_up(A) is None


def test_the_code_of_a_lost_connection_is_none_of_a_rank_that_has_told_nothing() -> None:
    ends = JobEnds("0:0")
    ends.left(A)
    ends.left(B)
    found, fault = ends.job_over(Exit(code=255), "its words", [A, B])
    assert not fault
    assert [(one.who, one.code) for one in found][:1] == [(A, LOST)]
    assert found[0].ending == "its host, or the connection of mpiexec to it, was lost"


def test_no_rank_is_blamed_where_who_had_started_them_could_not_go_on() -> None:
    ends = JobEnds("0:0")
    ends.left(A)
    found, fault = ends.job_over(
        Exit(code=1), "its words", [A, B], starter="gcm-pmi", is_broken=True
    )
    assert [brief(one) for one in found] == [(A, 137, 9, "0:0"), (B, 137, 9, "0:0")]
    assert (
        fault == "gcm-pmi could not go on while the ranks ran. No rank had failed before\nits words"
    )


def test_whom_mpiexec_ends_because_another_rank_failed_is_a_consequence_of_that() -> None:
    ends = JobEnds("0:0")
    assert brief(ends.exited(B, seen(code=7, at=1.0), is_connected=False)) == (B, 7, 0, "")
    assert brief(ends.exited(A, seen(signal=15, at=1.1), is_connected=False)) == (
        A,
        143,
        15,
        B,
    )
    assert over(ends, Exit(code=7, at=1.2)) == ([], "")


def test_whom_the_abort_of_another_ends_with_its_code_is_a_consequence_in_any_order() -> None:
    ends = JobEnds("0:0")
    ends.mpi_aborted(B, 6)
    assert brief(ends.exited(A, seen(code=6), is_connected=False)) == (A, 6, 0, B)
    assert brief(ends.exited(B, seen(code=6), is_connected=False)) == (B, 6, 0, "")


def test_a_rank_that_was_killed_before_the_process_of_another_ended_is_no_consequence() -> None:
    for other in ((), (seen(code=1, at=1.0),), (seen(code=1, at=1.5),)):
        ends = JobEnds("0:0")
        ends.program_ended(B, word(1, exception="PeerLost: rank 5 is lost"))
        for one in other:
            ends.exited(B, one, is_connected=False)
        found = ends.exited(A, seen(signal=9, at=1.0), is_connected=False)
        assert brief(found) == (A, 137, 9, "")


@pytest.mark.parametrize("is_told_here", [True, False])
def test_a_rank_that_is_killed_after_the_process_of_another_ended_follows_that(
    is_told_here: bool,
) -> None:
    ends = JobEnds("0:0")
    ends.program_ended(B, word(1, exception="PeerLost: rank 5 is lost"))
    if is_told_here:
        ends.exited(B, seen(code=1, at=0.9), is_connected=False)
    at = 1.0 if is_told_here else IN_TIME  # as of ranks on other hosts
    assert brief(ends.exited(A, seen(signal=9, at=at), is_connected=False)) == (A, 137, 9, B)


def test_whom_mpiexec_kills_together_with_its_parent_is_a_consequence_too() -> None:
    ends = JobEnds("0:0")
    ends.left(A)
    ends.exited(B, seen(signal=11), is_connected=False)
    assert over(ends, Exit(code=9, at=2.0), signal_printed=11) == ([(A, 137, 9, B)], "")


def test_a_crash_of_its_own_is_no_consequence_of_another() -> None:
    ends = JobEnds("0:0")
    ends.exited(B, seen(code=7), is_connected=False)
    assert brief(ends.exited(A, seen(signal=11), is_connected=False)) == (A, 139, 11, "")


def test_an_end_without_finalising_is_a_failure_even_with_exit_code_0() -> None:
    ends = JobEnds("0:0")
    end = ends.exited(A, seen(), is_connected=False)
    assert end is not None
    assert (end.code, end.why[:30]) == (1, "ended without finalising MPI. ")


def test_a_crash_behind_the_end_of_a_program_that_ended_well_is_told() -> None:
    ends = JobEnds("0:0")
    ends.program_ended(A, word(0))
    ends.left(A)
    end = ends.exited(A, seen(signal=11), is_connected=False)
    assert brief(end) == (A, 139, 11, "")
    assert end is not None
    assert "after its program" in end.why
    assert end.supersedes


def test_a_rank_killed_behind_its_program_is_named_and_not_who_had_started_it() -> None:
    ends = JobEnds("0:0")
    for rank, at in ((B, 1.0), (A, 1.1)):  # the process manager has killed A for that
        ends.program_ended(rank, word(0))
        assert ends.exited(rank, seen(signal=9, at=at), is_connected=False) is None
    found, fault = ends.job_over(Exit(code=137, at=1.2), "", [A, B], starter="gcm-pmi")
    assert ([brief(one) for one in found], fault) == ([(B, 137, 9, "")], "")
    assert "after its program" in found[0].why


def test_who_is_asked_to_end_has_not_failed() -> None:
    ends = JobEnds("0:0")
    ends.exited(B, seen(signal=9, at=1.0), is_connected=False)
    ends.stopping(2.0)
    assert brief(ends.exited(A, seen(signal=15, at=2.1), is_connected=False)) == (
        A, 143, 15, BY_REQUEST,
    )  # fmt: skip
    assert ends.first_code == 137


def test_a_death_before_the_request_that_becomes_known_after_it_is_a_failure() -> None:
    ends = JobEnds("0:0")
    ends.stopping(2.0)
    assert brief(ends.exited(A, seen(signal=11, at=1.9), is_connected=False)) == (
        A,
        139,
        11,
        "",
    )


def test_a_killed_mpiexec_is_named_and_the_ranks_it_took_along_are_consequences() -> None:
    ends = JobEnds("0:0")
    for rank in (A, B):  # the guard ends them a moment later, and tells of that when they are gone
        assert brief(ends.exited(rank, seen(signal=15, at=1.1), is_connected=False))
    found, fault = over(ends, Exit(signal=9, at=1.0))
    assert found == [(A, 143, 15, "0:0"), (B, 143, 15, "0:0")]
    assert fault == (
        "mpiexec was killed by SIGKILL while the ranks ran. No rank had failed before\nits words"
    )


def test_a_killed_proxy_is_named_though_all_ranks_ended_well() -> None:
    ends = JobEnds("0:0")
    ends.helper_ended("hydra_pmi_proxy (process 12)", 0.5)
    for rank in (A, B):
        ends.program_ended(rank, word(0))
        assert ends.exited(rank, seen(code=15, at=1.0), is_connected=False) is None
    found, fault = over(ends, Exit(code=15, at=2.0))
    assert found == []
    assert fault.startswith(
        "hydra_pmi_proxy (process 12), a process of mpiexec, was ended while all ranks had ended"
    )


@pytest.mark.parametrize("connected", [[], [A], [A, B]])
def test_a_proxy_that_ends_with_its_ranks_is_no_cause_however_late_these_hang_up(
    connected: list[str],
) -> None:
    ends = JobEnds("0:0")
    for rank in (A, B):
        ends.program_ended(rank, word(0))
        ends.exited(rank, seen(at=1.0), is_connected=True)
    ends.helper_ended("hydra_pmi_proxy (process 12)", 1.5)
    assert not ends.is_helper_outlived_by(connected)
    assert over(ends, Exit(code=0, at=2.0)) == ([], "")


def test_a_proxy_that_a_rank_outlives_is_named() -> None:
    ends = JobEnds("0:0")
    for rank in (A, B):
        ends.program_ended(rank, word(0))
    ends.exited(A, seen(at=1.0), is_connected=True)
    ends.helper_ended("hydra_pmi_proxy (process 12)", 1.5)
    assert ends.is_helper_outlived_by([A, B])
    assert over(ends, Exit(code=0, at=4.0))[1].startswith("hydra_pmi_proxy (process 12), a process")


def test_a_proxy_that_ends_because_a_rank_has_failed_is_no_cause() -> None:
    ends = JobEnds("0:0")
    ends.exited(A, seen(signal=11, at=1.0), is_connected=False)
    ends.helper_ended("hydra_pmi_proxy (process 12)", 1.1)
    assert over(ends, Exit(code=139, at=1.2)) == ([(B, 137, 9, A)], "")


def test_of_a_rank_of_which_nobody_else_knows_mpiexec_is_believed() -> None:
    ends = JobEnds("0:0")
    ends.program_ended(A, word(0))
    ends.left(B)
    assert over(ends, Exit(code=5, at=1.0)) == ([(B, 5, 0, "")], "")


def test_an_end_in_order_is_no_failure_of_anybody() -> None:
    ends = JobEnds("0:0")
    for rank in (A, B):
        ends.program_ended(rank, word(0))
        ends.exited(rank, seen(at=1.0), is_connected=False)
    ends.helper_ended("hydra_pmi_proxy (process 12)", 1.5)
    assert over(ends, Exit(code=0, at=2.0)) == ([], "")
    assert ends.first_code == 0


def test_the_first_cause_is_the_same_in_whichever_order_words_and_sights_come() -> None:
    def happen(ends: JobEnds, what: str) -> list[RankDeath | None]:
        match what:
            case "A leaves":
                return [ends.left(A)]
            case "A is seen":
                return [ends.exited(A, seen(signal=11, at=1.0), is_connected=A not in gone)]
            case _:
                return [ends.program_ended(B, word(0))]

    for order in permutations(("A leaves", "A is seen", "B says")):
        ends, gone, told = JobEnds("0:0"), set[str](), []
        for what in order:
            gone |= {A} if what == "A leaves" else set()
            told += [one for one in happen(ends, what) if one is not None]
        assert {brief(one) for one in told} == {(A, 139, 11, ""), (B, 0, 0, "")}
        assert over(ends, Exit(code=9, at=3.0)) == ([], "")


CRASH = """\
Fatal Python error: Segmentation fault

Thread 0x00007f1 (most recent call first):
  File "/lib/threading.py", line 5 in wait

Current thread 0x00007f2 (most recent call first):
  File "program.py", line 8 in die
  File "/own/engine/rank_main.py", line 3 in main

Extension modules: numpy, mpi4py.MPI (total: 2)
"""


def test_of_a_crash_the_calls_of_the_program_are_told(tmp_path: pytest.TempPathFactory) -> None:
    path = f"{tmp_path}/0.crash"
    with open(path, "w", encoding="utf-8") as file:
        file.write(CRASH)
    assert crash_of(path, ("/own/",)).splitlines() == [
        "Fatal Python error: Segmentation fault",
        "Current thread 0x00007f2 (most recent call first):",
        '  File "program.py", line 8 in die',
    ]
    assert crash_of(path, ("/own/",)) == ""


def test_a_second_kill_is_a_loss_of_its_own_where_mpiexec_cleans_nothing_up() -> None:
    ends = JobEnds("0:0", goes_on=True)
    for rank, at in ((A, 1.0), (B, 2.5)):
        ends.left(rank)
        assert brief(ends.exited(rank, seen(signal=9, at=at), is_connected=False)) == (
            rank,
            137,
            9,
            "",
        )


def test_a_rank_that_aborts_did_so_before_mpiexec_ended_because_of_it() -> None:
    ends = JobEnds("0:0")
    ends.aborted(A)
    ends.program_ended(A, word(3, "called MPI.Abort(3)"))
    ends.stopping(1.0)
    ends.exited(A, seen(code=3, at=2.0), is_connected=False)
    _, fault = over(ends, Exit(code=1))
    assert fault == ""


@pytest.mark.parametrize("at", [0.5, 2.0])
def test_a_rank_whose_loss_made_another_one_abort_was_not_ended_by_that(at: float) -> None:
    ends = JobEnds("0:0")
    ends.aborted(A)
    missed = replace(word(1, "called MPI.Abort(1)"), lost=(RankName.parse(B),), is_loss=True)
    ends.program_ended(A, missed)
    ends.stopping(1.0)
    found = ends.exited(B, seen(signal=9, at=at), is_connected=False)
    assert brief(found) == (B, 137, 9, "")
    other = ends.exited("0:0:2", seen(signal=9, at=2.0), is_connected=False)
    assert brief(other) == ("0:0:2", 137, 9, BY_REQUEST)


def test_what_a_rank_that_has_failed_loses_while_it_ends_is_not_why() -> None:
    ends = JobEnds("0:0")
    ends.aborted(A)
    assert brief(ends.program_ended(A, word(1, exception="KeyError: 9"))) == (A, 1, 0, "")
    ends.stopping(1.0)
    missed = replace(word(2, "called MPI.Abort(2)"), lost=(RankName.parse(B),), is_loss=True)
    assert ends.program_ended(A, missed) is None
    assert ends.first_code == 1
    found = ends.exited(B, seen(signal=9, at=2.0), is_connected=False)
    assert brief(found) == (B, 137, 9, BY_REQUEST)


def test_a_rank_whose_program_has_ended_well_may_still_fail() -> None:
    ends = JobEnds("0:0")
    ends.program_ended(A, word(0))
    assert brief(ends.program_ended(A, word(3, "called MPI.Abort(3)"))) == (A, 3, 0, "")


@pytest.mark.parametrize("first", ["left", "gone"])
def test_a_rank_without_a_parent_that_could_tell_was_lost_with_its_host(first: str) -> None:
    ends = JobEnds("0:0", goes_on=True)
    found = [ends.left(A), ends.host_gone(A, "was lost with c2")]
    if first == "gone":
        ends = JobEnds("0:0", goes_on=True)
        found = [ends.host_gone(A, "was lost with c2"), ends.left(A)]
    assert found == [None, RankDeath.lost(RankName.parse(A), "was lost with c2", Witness.FRONT_END)]
    assert not ends.was_reported(A)


def test_a_rank_whose_host_is_lost_may_still_tell_how_it_ended() -> None:
    ends = JobEnds("0:0", goes_on=True)
    ends.host_gone(A, "was lost with c2")
    assert brief(ends.program_ended(A, word(0))) == (A, 0, 0, "")
    assert ends.left(A) is None
    assert ends.give_up(A) is None


def test_what_became_of_a_host_says_nothing_of_a_process_that_is_started_later() -> None:
    ends = JobEnds("0:0", goes_on=True)
    ends.host_gone(A, "was lost with c2")
    ends.left(A)
    ends.again(A)
    assert ends.left(A) is None
    ends.exited(A, seen(signal=9), is_connected=False)
    assert ends.was_reported(A)


@pytest.mark.parametrize("code", [1, 0, None])
def test_a_host_lives_on_which_a_rank_has_told_its_own_end(code: int | None) -> None:
    ends = JobEnds("0:0", goes_on=True)
    death = ends.concluded(A, "no room") if code is None else ends.program_ended(A, word(code))
    assert death is not None
    assert ends.was_reported(A) is death.is_stated is (code is not None)
    ends.again(A)
    assert not ends.was_reported(A)
