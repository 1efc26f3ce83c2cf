"""A peer that dies between each two steps of a submission."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.cli.gcm_run import read_line
from runtime.cli.load import load_deployment
from runtime.cli.on_peers import run_on_peers
from runtime.exit_codes import LOST, NEVER_STARTED
from runtime.peers.submission import Step
from tests.integration.peers.labs import Lab
from tests.integration.peers.test_gcm_run import credential_of_alice, is_busy

pytestmark = pytest.mark.mpi

PEERS = ("peer:h1", "peer:h2", "peer:h3")
VICTIM = "peer:h1"
PROGRAM = """\
import sys, time
from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(1), flush=True)
if "wait" in sys.argv:
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A supernode and three peers, two of which have enough places."""
    made = Lab(tmp_path_factory.mktemp("lab"))
    try:
        made.start("supernode:s1")
        yield made
    finally:
        made.close()


@pytest.fixture
def alice(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work as a user of the lab, in a folder with a program; all peers are there."""
    for who in PEERS:
        if who not in lab.addresses or who == VICTIM:
            lab.start(who, ("supernode:s1",), "processes = 2\n")
    monkeypatch.setenv("GCM_CREDENTIAL", str(credential_of_alice(lab)))
    monkeypatch.setenv("GCM_FOLDER", str(tmp_path / "gcm"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("step", list(Step)[1:], ids=lambda step: step.name.lower())
def test_a_peer_that_dies_before_a_step_is_replaced_or_named(
    lab: Lab, step: Step, capfd: pytest.CaptureFixture[str]
) -> None:
    is_too_late = step.number > Step.STAGED.number
    words = ["wait"] if step is Step.WATCH else []
    # before the launch there are enough places without it, behind it everybody is needed
    options = read_line(["-n", "6" if is_too_late else "3", "-w", "20", "program.py", *words])
    deployment = load_deployment(options)
    assert deployment is not None
    killed: list[Step] = []

    def kill(entered: Step) -> None:
        if entered is step and not killed:
            lab.kill(VICTIM)
            killed.append(entered)

    code = run_on_peers(deployment, options, kill)
    output, errors = capfd.readouterr()
    assert killed
    if is_too_late:
        assert code == (LOST if step is Step.WATCH else NEVER_STARTED)
        assert "h1" in errors
    else:
        assert (code, output) == (0, "3\n" * 3)
    assert [who for who in PEERS if who != VICTIM and is_busy(lab, who)] == []
