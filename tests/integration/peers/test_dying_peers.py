"""A peer that dies between each two steps of a submission."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.cli.lab_run import read_line
from runtime.cli.load import load_deployment
from runtime.cli.on_peers import run_on_peers
from runtime.exit_codes import LOST, NEVER_STARTED
from runtime.peers.daemon import find_running
from runtime.peers.submission.steps import SubmissionStep
from tests.integration.peers.labs import Lab, eventually
from tests.integration.peers.test_gcm_run import credential_of_alice, is_busy

pytestmark = pytest.mark.mpi

PEERS = ("peer:h1", "peer:h2", "peer:h3")
VICTIM = "peer:h1"
PROGRAM = """\
import time
from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(1), flush=True)
if MPI.COMM_WORLD.size == 6:
    time.sleep(600)
"""
Begin = Callable[..., int]


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
def begin(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Return what submits a program as a user of the lab; the victim has settings of its own."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("GCM_CREDENTIAL", str(credential_of_alice(lab)))
    monkeypatch.setenv("GCM_FOLDER", str(lab.base / "gcm"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.chdir(tmp_path)

    def begin(
        hears: Callable[[SubmissionStep], None], *words: str, settings: str = "", path: str = ""
    ) -> int:
        for who in PEERS[1:]:
            if find_running(lab.folder(who)) is None:
                lab.start(who, ("supernode:s1",), "processes = 2\n")
        with monkeypatch.context() as patch:
            if path:
                patch.setenv("PATH", path)
            lab.start(VICTIM, ("supernode:s1",), f"processes = 2\n{settings}")
        eventually(lambda: lab.hosts("supernode:s1") >= set(PEERS))
        options = read_line(["-w", "20", *words, "program.py"])
        deployment = load_deployment(options)
        assert deployment is not None
        return run_on_peers(deployment, options, hears)

    yield begin
    if found := find_running(lab.folder(VICTIM)):
        found.halt()
    left = [who for who in PEERS[1:] if find_running(lab.folder(who))]
    eventually(lambda: not any(is_busy(lab, who) for who in left))


@pytest.mark.parametrize("step", list(SubmissionStep)[1:8], ids=lambda step: step.name.lower())
def test_a_peer_that_dies_before_the_launch_is_replaced(
    lab: Lab, begin: Begin, step: SubmissionStep, capfd: pytest.CaptureFixture[str]
) -> None:
    entered: list[SubmissionStep] = []

    def kill(now: SubmissionStep) -> None:
        entered.append(now)
        if now is step and entered.count(step) == 1:
            lab.kill(VICTIM)

    assert begin(kill, "-n", "3", "--quiet") == 0
    assert capfd.readouterr() == ("3\n" * 3, "")
    # With the dead peer in the machine there would be a second launch, without it.
    assert entered.count(SubmissionStep.LAUNCH) == 1


@pytest.mark.parametrize("step", [SubmissionStep.LAUNCH, SubmissionStep.TABLE])
def test_a_run_whose_launch_has_lost_a_peer_is_launched_again_without_it(
    lab: Lab, begin: Begin, step: SubmissionStep, capfd: pytest.CaptureFixture[str]
) -> None:
    entered: list[SubmissionStep] = []

    def kill(now: SubmissionStep) -> None:
        entered.append(now)
        if entered.count(step) == 1 and now is step:
            lab.kill(next(who for who in PEERS if is_busy(lab, who)))

    assert begin(kill, "-n", "3", "--quiet") == 0
    assert entered.count(SubmissionStep.LAUNCH) == 2
    said = capfd.readouterr()
    assert said.out == "3\n" * 3
    # A rank that starts while its launch is given up may still say so.
    lines = [one for one in said.err.splitlines() if "cannot reach its front-end" not in one]
    assert not lines


@pytest.mark.parametrize("step", [SubmissionStep.LAUNCH, SubmissionStep.WATCH])
def test_a_lost_peer_that_cannot_be_replaced_is_named(
    lab: Lab, begin: Begin, step: SubmissionStep, capfd: pytest.CaptureFixture[str]
) -> None:
    def kill(entered: SubmissionStep) -> None:
        if entered is step and VICTIM not in killed:
            lab.kill(VICTIM)
            killed.append(VICTIM)

    killed: list[str] = []
    code = begin(kill, "-n", "6", "-w", "3", "--quiet")
    assert code == (LOST if step is SubmissionStep.WATCH else NEVER_STARTED)
    assert "h1" in capfd.readouterr().err


OLD = "#!/bin/sh\necho Python 3.6.15 >&2\nexit 1\n"


@pytest.mark.parametrize(
    "case",
    [
        ("nowhere/python", "", "the Python of this peer cannot be started"),
        ("old", "", "it has to be 3.11 or newer"),
        (os.path.realpath(sys.executable), "/usr/bin:/bin", "there is no 'mpiexec'"),
    ],
    ids=["no Python", "an old Python", "no MPI"],
)
def test_a_peer_that_cannot_run_anything_is_named_with_the_reason(
    begin: Begin,
    tmp_path: Path,
    case: tuple[str, str, str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    python, path, said = case
    old = tmp_path / "old"
    old.write_text(OLD)
    old.chmod(0o755)
    settings = f'python = "{tmp_path / python}"\n'
    code = begin(lambda _: None, "-n", "6", "--quiet", settings=settings, path=path)
    assert code == NEVER_STARTED
    errors = capfd.readouterr().err
    assert said in errors
    assert "/h1" in errors
