from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from runtime.coupling import CodeBusy, CodeNotRunning, CodeNotStarted
from runtime.coupling.code_run import CodeState
from runtime.deployment import DeploymentPlan
from runtime.processes.launcher.machine import Machine

pytestmark = pytest.mark.mpi

Steer = Callable[..., Machine]

NATIVE = ("/bin/sh", "-c", "echo rank $PMI_RANK says $0; exit $((PMI_RANK + 3))", "hello")
SLEEP = ("/bin/sleep", "600")


def test_a_native_program_is_a_component(steer: Steer) -> None:
    machine = steer(2, native=NATIVE)
    native = machine.code("native")
    assert native.path == "/grid/codes/native"
    assert native is machine.assembly.find("codes/native")
    assert sorted(one.name for one in native.servers) == ["control", "messages"]
    assert native.control.wait(20) == {0: 3, 1: 4}
    assert native.control.exit_codes() == {0: 3, 1: 4}
    said = {(one.rank, one.stream, one.text) for one in native.control.output()}
    assert {(0, "stdout", "rank 0 says hello"), (1, "stdout", "rank 1 says hello")} <= said
    status = native.control.status()
    assert (status.name, status.state, status.ranks, status.incarnation) == (
        "native",
        CodeState.ENDED,
        2,
        1,
    )


def test_codes_are_started_stopped_and_killed_one_by_one(steer: Steer) -> None:
    machine = steer(2, idle=True, one=SLEEP, two=SLEEP)
    one, two = machine.code("one").control, machine.code("two").control
    assert (one.status().state, one.status().incarnation) == (CodeState.IDLE, 0)
    with pytest.raises(CodeNotRunning, match="one does not run, it is idle"):
        one.stop()
    with pytest.raises(CodeNotRunning, match="one was never started"):
        one.wait()
    one.start()
    two.start()
    with pytest.raises(CodeBusy, match="^one "):
        one.start()
    with pytest.raises(TimeoutError, match="one was still running after 0.1 s"):
        one.wait(0.1)
    one.stop(grace=20)
    assert (one.exit_codes(), two.status().state) == ({0: 143, 1: 143}, CodeState.RUNNING)
    one.start()
    assert (one.status().state, one.status().incarnation) == (CodeState.RUNNING, 2)
    assert one.exit_codes() == {}
    one.kill()
    assert set(one.exit_codes()) == {0, 1}
    two.kill()


def test_a_program_that_does_not_care_to_stop_is_killed(steer: Steer) -> None:
    deaf = ("/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
    code = steer(deaf=deaf).code("deaf")
    while not any(one.text == "ready" for one in code.control.output()):
        with pytest.raises(TimeoutError):
            code.control.wait(0.1)
    code.control.stop(grace=0.3)
    assert code.control.status().state is CodeState.ENDED
    assert code.control.exit_codes() == {0: 137}


def test_a_code_of_which_a_rank_has_failed_is_ended_and_the_others_go_on(steer: Steer) -> None:
    stuck = (
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
        "if world.rank == 1: raise ValueError('no good')\nworld.recv(source=1)\n"
    )
    machine = steer(2, settle=0.5, stuck=stuck, other=SLEEP)
    control = machine.code("stuck").control
    codes = control.wait(30)
    assert (codes[0] > 128, codes[1]) == (True, 1)
    why = control.status().why
    assert why.startswith("rank 1 of stuck (here/stuck 1) ended with ValueError: no good, ")
    assert why.endswith(" of stuck did not end within 0.5 s and were stopped")
    other = machine.code("other").control
    other.stop(grace=20)
    assert other.exit_codes() == {0: 143, 1: 143}  # by that alone


def test_a_stop_waits_until_everything_has_started(steer: Steer) -> None:
    machine = steer(one=SLEEP, two=SLEEP)
    machine.code("one").control.stop(grace=20)
    assert machine.code("one").control.exit_codes() == {0: 143}
    assert machine.code("two").control.status().state is CodeState.RUNNING


def test_a_code_that_cannot_start_says_why_and_can_be_started_again(steer: Steer) -> None:
    control = steer(idle=True, mpiexec="no-mpiexec", lost=SLEEP).code("lost").control
    with pytest.raises(CodeNotStarted, match="lost could not be started") as caught:
        control.start()
    assert "there is no 'no-mpiexec'" in str(caught.value)
    assert control.status().state is CodeState.ENDED
    with pytest.raises(CodeNotStarted, match="there is no 'no-mpiexec'"):
        control.start()


def test_the_end_of_the_machine_ends_whoever_waits(steer: Steer) -> None:
    machine = steer(sleep=SLEEP)
    control = machine.code("sleep").control
    while control.status().state is not CodeState.RUNNING:
        with pytest.raises(TimeoutError):
            control.wait(0.05)
    machine.interrupt()
    control.wait(20)
    assert machine.wait(20).exit_code == 128 + signal.SIGINT


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_a_run_in_which_a_program_has_ended_a_code_ends_well(
    plan: Callable[..., DeploymentPlan], way: str
) -> None:
    with Machine(plan(2, one=SLEEP, two=("/bin/sh", "-c", "sleep 2"))) as machine:
        control = machine.code("one").control
        getattr(control, way)()
        assert min(control.exit_codes().values()) > 128
        outcome = machine.wait(30)
    assert (outcome.errors, outcome.exit_code) == ((), 0)
