from __future__ import annotations

import pytest

from runtime.coupling.code_run import CodeRun, CodeState
from runtime.coupling.errors import CodeBusy, CodeNotRunning
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.rank_name import RankName


def death(rank: str, code: int, why: str = "") -> RankDeath:
    return RankDeath(RankName.parse(rank), Observation(Witness.RANK, code, why=why))


def running(*, survives: bool = False) -> CodeRun:
    run = CodeRun("air", {"0:1": 2, "1:0": 1}, survives=survives)
    run.begin()
    assert not run.ranks_up("0:1")
    assert run.ranks_up("1:0")
    assert run.go()
    return run


def test_a_code_runs_when_the_ranks_of_all_its_clusters_are_up() -> None:
    run = running()
    assert (run.state, run.incarnation, run.has_run, run.is_alive) == (
        CodeState.RUNNING,
        1,
        True,
        True,
    )
    assert not run.go()


def test_a_code_ends_with_its_last_cluster() -> None:
    run = running()
    assert run.rank_ended(death("0:1:1", 0)) == {1: "exit code 0"}
    assert run.rank_ended(death("0:1:1", 0)) == {}
    assert run.rank_ended(death("1:0:0", 2, "it failed"), "its error") == {2: "it failed"}
    assert run.job_ended("1:0", 2, "") == {}
    assert run.state is CodeState.RUNNING
    assert run.job_ended("0:1", 137, "") == {0: "exit code 137, killed by signal 9"}
    assert (run.state, run.is_alive) == (CodeState.ENDED, False)
    assert run.exit_codes == {0: 137, 1: 0, 2: 2}
    assert run.why == "exit code 2"


def test_what_is_left_of_a_code_is_ended_some_time_after_the_first_failure() -> None:
    run = running()
    run.rank_ended(death("0:1:0", 0))
    assert not run.begins_to_settle()
    run.rank_ended(death("1:0:0", 3))
    assert run.begins_to_settle()
    run.job_ended("1:0", 4, "its last words")
    assert not run.begins_to_settle()  # it does already
    assert not run.settle(0, 5.0)  # that was another incarnation
    assert run.settle(1, 5.0)
    run.job_ended("0:1", 137, "")
    assert run.why == (
        "rank 2 of air failed (exit code 3), and the other ranks of air did not end within 5 s and"
        " were stopped\nexit code 4\nits last words"
    )
    run.begin()
    assert not run.begins_to_settle()


def test_a_code_that_ends_by_itself_or_is_stopped_needs_no_time_to_settle() -> None:
    run = running()
    run.rank_ended(death("0:1:1", 3))
    assert run.begins_to_settle()
    run.stop()
    assert not run.settle(1, 5.0)
    run.job_ended("0:1", 3, "")
    assert not run.begins_to_settle()


def test_a_code_that_survives_losses_is_not_ended_for_them() -> None:
    run = running(survives=True)
    run.rank_ended(death("0:1:1", 9))
    assert not run.begins_to_settle()
    assert run.rank_starts_again(RankName.parse("0:1:1")) == 1
    assert run.exit_codes == {}
    assert run.rank_ended(death("0:1:1", 9)) == {1: "exit code 9"}
    run.job_ended("1:0", 1, "")
    assert not run.begins_to_settle()


def test_a_cluster_that_ends_badly_after_its_ranks_is_a_failure_too() -> None:
    run = running()
    run.rank_ended(death("1:0:0", 0))
    run.job_ended("1:0", 139, "")
    assert run.begins_to_settle()
    assert run.settle(1, 1.0)
    assert run.why.startswith("cluster 1:0 of air failed (exit code 139, killed by signal 11)")


def test_a_code_that_ended_well_has_no_reason() -> None:
    run = running()
    for cluster in ("0:1", "1:0"):
        run.job_ended(cluster, 0, "")
    assert (run.why, run.exit_codes) == ("", {0: 0, 1: 0, 2: 0})


def test_a_code_starts_again_only_after_its_end() -> None:
    run = running()
    with pytest.raises(CodeBusy, match="air cannot be started, it is running. Stop it first"):
        run.begin()
    run.job_ended("0:1", 1, "broken")
    run.job_ended("1:0", 0, "")
    assert run.why == "exit code 1\nbroken"
    run.begin()
    assert (run.state, run.incarnation, run.exit_codes, run.why, run.has_run) == (
        CodeState.STARTING,
        2,
        {},
        "",
        False,
    )


def test_only_a_living_code_can_be_stopped() -> None:
    idle = CodeRun("air", {"0:1": 2})
    with pytest.raises(CodeNotRunning, match="air does not run, it is idle"):
        idle.stop()
    run = running()
    run.stop()
    assert (run.state, run.is_alive) == (CodeState.STOPPING, True)
    assert not run.go()


def test_the_first_reason_is_kept() -> None:
    run = running()
    run.fail("no mpiexec")
    run.fail("something else")
    run.lose("the machine has ended")
    assert (run.state, run.why) == (CodeState.ENDED, "no mpiexec")
    run.lose("again")
    assert run.why == "no mpiexec"


def test_losing_a_code_that_never_ran_changes_nothing() -> None:
    idle = CodeRun("air", {"0:1": 2})
    idle.lose("the machine has ended")
    assert (idle.state, idle.why) == (CodeState.IDLE, "")


def test_a_cluster_of_another_code_is_unknown() -> None:
    with pytest.raises(KeyError):
        running().first_rank("5:5")
