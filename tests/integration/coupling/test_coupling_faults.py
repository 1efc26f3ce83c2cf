from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.coupling import CodeEnded
from runtime.coupling.registry import CouplingRegistry
from runtime.deployment import DeploymentPlan
from runtime.processes.launcher.machine import Machine
from runtime.views.stream import Silent
from tests.commands import gcm_deploy
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

Steer = Callable[..., Machine]

VICTIM = """
import os, time
from runtime import coupling
coupling.send(os.getpid(), code="waiter", rank=coupling.rank)
coupling.recv(code="waiter", tag=99)
"""
WAITER = """
import time
from runtime import coupling
coupling.send(coupling.recv(code="victim", rank=coupling.rank), code=coupling.DRIVER)
begun = time.monotonic()
try:
    coupling.recv(code="victim", rank=0, tag=7)
except coupling.CodeEnded as fault:
    coupling.send((str(fault), fault.code, time.monotonic() - begun), code=coupling.DRIVER)
try:
    coupling.send(1, code="victim")
except coupling.CodeEnded as fault:
    coupling.send(str(fault), code=coupling.DRIVER)
coupling.recv(code=coupling.DRIVER)
"""


def test_who_waits_for_a_killed_code_is_told_at_once(steer: Steer) -> None:
    machine = steer(2, victim=VICTIM, waiter=WAITER)
    waiter = machine.code("waiter").messages
    victim = waiter.recv(rank=0, timeout=30)
    waiter.recv(rank=1, timeout=30)  # which both say once they have heard of a rank of the victim
    os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    for rank in (0, 1):  # native MPI ends the whole code with one of its ranks
        words, code, _ = waiter.recv(rank=rank, timeout=30)
        assert time.monotonic() - killed < 5
        assert code == "victim"
        waits = f"victim has ended while rank {rank} of waiter waits for a message with tag 7"
        assert f"{waits} from rank 0 of victim" in words
        assert "exit code " in words
        again = waiter.recv(rank=rank, timeout=30)
        assert f"victim has ended while rank {rank} of waiter " in again
    # MPICH does not always tell that it was a signal
    assert set(machine.code("victim").control.wait(10).values()) <= {1, 137}
    with pytest.raises(CodeEnded, match="victim has ended"):
        machine.code("victim").messages.recv()


SERVER = """
from runtime import coupling
while True:
    coupling.send(coupling.recv(code="client") + 1, code="client")
"""
CLIENT = """
from runtime import coupling
for step in ("first", "second"):
    coupling.send(41, code="server")
    coupling.send((step, coupling.recv(code="server")), code=coupling.DRIVER)
    coupling.recv(code=coupling.DRIVER)
"""


def test_a_killed_code_that_is_started_again_is_reached_again(
    steer: Steer, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = steer(server=SERVER, client=CLIENT)
    server, client = machine.code("server"), machine.code("client")
    assert client.messages.recv(timeout=30) == ("first", 42)
    server.control.kill()
    make_busy_at_begin(machine, monkeypatch)
    server.control.start()
    client.messages.send("go on")
    assert client.messages.recv(timeout=30) == ("second", 42)


def make_busy_at_begin(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the connections to front-ends be busy just when a code begins."""
    began = CouplingRegistry.began

    def begin(registry: CouplingRegistry, code: str, incarnation: int) -> None:
        assert machine._executor is not None
        machine._executor._host.reactor.soon(lambda: time.sleep(0.3))
        began(registry, code, incarnation)

    monkeypatch.setattr(CouplingRegistry, "began", begin)


def test_one_code_that_ends_badly_ends_the_other_and_the_run(
    plan: Callable[..., DeploymentPlan],
) -> None:
    outcome = Machine(
        plan(
            bad="raise SystemExit(7)",
            good="from runtime import coupling; coupling.recv(code='bad')",
        ),
        Silent(),
    ).run()
    assert outcome.exit_code == 7
    assert outcome.first_cause is not None
    assert outcome.first_cause.rank == "0:0:0"


def test_a_run_that_nobody_drives_has_no_driver(plan: Callable[..., DeploymentPlan]) -> None:
    alone = "from runtime import coupling; coupling.send(1, code=coupling.DRIVER)"
    outcome = Machine(plan(alone=alone), Silent()).run()
    assert outcome.exit_code == 1
    assert "no Python program drives this run. Deploy it with Machine" in outcome.errors[0]


def test_a_program_that_nobody_deployed_is_told_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from runtime import coupling; coupling.recv(code='ocean')"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert re.search("NotCoupled: .* not a rank", done.stderr), done.stderr


def test_codes_that_wait_for_each_other_are_explained(descriptor: Callable[..., Path]) -> None:
    path = descriptor(
        ocean="from runtime import coupling\ncoupling.recv(code='air', rank=0, tag=7)\n",
        air="from runtime import coupling\ncoupling.receive(code='ocean', tag=5)\n",
    )
    done = gcm_deploy("--quiet", "--explain-waits", "1", "--run-timeout", "8", path)
    ocean, air = "rank 0 of ocean (here/ocean 0)", "rank 0 of air (here/air 0)"
    assert done.returncode == 124
    assert re.match("gcm-deploy: .*never go on:\n", done.stderr)
    assert f"waits in coupling.recv from {air} tag 7 (ocean.py:2)" in done.stderr
    assert "waits in coupling.recv from any rank tag 5 (air.py:2)" in done.stderr
    assert ocean in done.stderr
