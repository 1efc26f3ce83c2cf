"""What several threads do with codes at the same time, and what is done after the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from runtime.coupling import CodeEnded, CodeNotRunning, NotCoupled
from runtime.coupling.code_run import CodeState
from runtime.coupling.deployed_codes import Codes
from runtime.coupling.errors import CodeNotStarted
from runtime.deployment import DeploymentPlan
from runtime.lifecycle.walltimes import RunTimeouts
from runtime.machine.calls import stub
from runtime.machine.contracts import Orders
from runtime.processes.launcher.machine import Machine
from runtime.views.facts import Fact, OutputWritten, StateChanged
from runtime.views.stream import Silent, nothing

pytestmark = pytest.mark.mpi

Plan = Callable[..., DeploymentPlan]
Steer = Callable[..., Machine]
SLEEP = ("/bin/sleep", "600")
ECHO = """
from runtime import coupling
coupling.send("here", code=coupling.DRIVER)
coupling.recv(code=coupling.DRIVER)
"""


def test_calls_after_the_end_of_the_machine_return_at_once(steer: Steer) -> None:
    machine = steer(echo=ECHO)
    code = machine.code("echo")
    assert code.messages.recv(timeout=30) == "here"
    code.messages.send("go on")
    code.control.wait(60)
    machine.__exit__()
    assert code.control.status().state is CodeState.ENDED
    assert set(code.control.wait()) == {0}
    with pytest.raises(CodeNotRunning):
        code.control.kill()
    with pytest.raises(NotCoupled, match="the machine has ended"):
        code.control.start()
    with pytest.raises(CodeEnded):
        code.messages.send("too late")
    with pytest.raises(CodeEnded):
        code.messages.recv()


def test_who_kills_a_code_does_not_wait_for_its_next_incarnation(plan: Plan) -> None:
    codes = Codes(plan(air=SLEEP), steered=True)

    def start() -> None:
        with suppress(CodeNotStarted, NotCoupled):
            codes.start("air")

    starter = threading.Thread(target=start)

    def front_end(cluster: str) -> Orders:
        return stub(Orders, partial(tell, cluster))

    def tell(cluster: str, _: str, operation: str, __: tuple[Any, ...]) -> None:
        if operation == "kill_ranks":  # it ends, and somebody else starts it again
            codes.job_ended(cluster, 137, "")
            starter.start()
            until = time.monotonic() + 0.5
            while codes.status("air").incarnation == 1 and time.monotonic() < until:
                time.sleep(0.01)

    codes.connect(front_end, lambda *_: None)
    codes.go()
    codes.open()
    killer = threading.Thread(target=codes.kill, args=["air"], daemon=True)
    killer.start()
    killer.join(10)
    assert not killer.is_alive()
    codes.end("it is over")
    starter.join(10)


@pytest.fixture
def deaf(plan: Plan) -> Iterator[Machine]:
    """Run a code of two ranks that have stopped, while a thread sends to each all that it can."""
    program = "import os, signal\n" + ECHO.replace(
        "coupling.recv", "os.kill(os.getpid(), signal.SIGSTOP); coupling.recv"
    )
    senders = []
    machine = Machine(plan(2, deaf=program), timeouts=RunTimeouts(grace=1.0), steered=True)
    with machine:
        messages = machine.code("deaf").messages

        def send(rank: int) -> None:
            with suppress(CodeEnded, NotCoupled):
                while True:
                    messages.send(bytes(30 << 20), rank)

        for rank in (0, 1):
            assert messages.recv(rank, timeout=60) == "here"
            senders.append(threading.Thread(target=send, args=[rank]))
            senders[-1].start()
            senders[-1].join(0.5)
        yield machine
    for sender in senders:
        sender.join(30)
        assert not sender.is_alive()


def test_a_machine_ends_although_its_ranks_do_not_read(deaf: Machine) -> None:
    deaf.stop()
    deaf.wait(30)


def test_a_code_whose_ranks_do_not_read_can_be_killed(deaf: Machine) -> None:
    killed = threading.Event()

    def kill() -> None:
        deaf.code("deaf").control.kill()
        killed.set()

    killer = threading.Thread(target=kill)
    killer.start()
    assert killed.wait(20)
    killer.join()


def test_what_was_left_is_ended_also_while_it_talks_without_a_pause(plan: Plan) -> None:
    class Slow(Silent):
        def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
            until = time.perf_counter() + 1e-3
            while isinstance(fact.record, OutputWritten) and time.perf_counter() < until:
                pass
            taken()

    loud = ("/usr/bin/yes", "and so on")
    codes = plan(bad=("/bin/sh", "-c", "exit 7"), loud=loud)
    outcome = Machine(codes, Slow(), timeouts=RunTimeouts(settle=1.0, grace=1.0)).run()
    assert outcome.exit_code == 7
    assert any("did not end within 1 s, and had to be stopped" in one for one in outcome.errors)


def test_who_stops_the_machine_once_a_code_has_ended_comes_after_that(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    class Watching(Silent):
        def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
            if isinstance(fact.record, StateChanged):
                shown.append(f"{fact.name} is {fact.record.state}")
            taken()

    job_ended = Codes.job_ended

    def slowly(codes: Codes, cluster: str, code: int, why: str) -> None:
        job_ended(codes, cluster, code, why)
        time.sleep(0.3)  # in which the program here goes on, and stops the machine

    monkeypatch.setattr(Codes, "job_ended", slowly)
    with Machine(plan(short=("/bin/true",)), Watching(), steered=True) as machine:
        machine.code("short").control.wait(30)
    assert "0:0 is done" in shown
