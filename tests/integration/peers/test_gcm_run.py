"""`gcm-run` with real daemons on this machine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.exit_codes import INTERRUPTED, NEVER_STARTED
from tests.integration.peers.labs import Lab, eventually

pytestmark = pytest.mark.mpi

ROOT = Path(__file__).parents[3]
COMMAND = (
    sys.executable,
    "-c",
    "import sys; from runtime.cli import run_main; sys.exit(run_main())",
)
PEERS = ("peer:h1", "peer:h2", "peer:h3")
PROGRAM = """\
import os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
if world.rank == 0:
    print(world.size, total, sys.argv[1:], flush=True)
    open("result.txt", "w").write(str(total))
if "wait" in sys.argv:
    time.sleep(600)
"""


def credential_of_alice(lab: Lab) -> Path:
    """Write the credential of a user who finds the supernode, and return its file."""
    file = lab.base / "alice.credential"
    alice = lab.alice.credential
    header = replace(alice.header, supernodes=(lab.addresses["supernode:s1"],))
    replace(alice, header=header).write(file)
    return file


def is_busy(lab: Lab, who: str) -> bool:
    """Tell whether a peer has a reservation or a guard."""
    status = lab.status(who)
    return bool(status["reservation"]["runs"] or status["launch"]["guards"])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A supernode and three peers, each of which lends two places to one application."""
    made = Lab(tmp_path_factory.mktemp("lab"))
    try:
        made.start("supernode:s1")
        for who in PEERS:
            made.start(who, ("supernode:s1",), "processes = 2\n")
        credential_of_alice(made)
        eventually(lambda: len(made.status("supernode:s1")["membership"]["hosts"]) >= len(PEERS))
        yield made
    finally:
        made.close()


class User:
    """Somebody with a credential of the lab and a program in a folder."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self.work = folder / "work"
        self.work.mkdir()
        (self.work / "program.py").write_text(PROGRAM)
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "GCM_FOLDER": str(folder / "gcm"),
            "GCM_CREDENTIAL": str(lab.base / "alice.credential"),
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.work, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str) -> tuple[int, str, str]:
        with self.start(*words) as process:
            output, errors = process.communicate(timeout=100)
        return process.returncode, output, errors

    def nothing_is_reserved(self) -> None:
        """Wait until no peer has a reservation or a guard."""
        eventually(lambda: not any(is_busy(self._lab, who) for who in PEERS))


@pytest.fixture
def user(lab: Lab, tmp_path: Path) -> User:
    return User(lab, tmp_path)


def test_an_unmodified_program_runs_on_peers_and_its_results_come_home(user: User) -> None:
    code, output, errors = user.run("-n", "4", "--staging", "push", "--quiet", "program.py", "a b")
    assert (code, output, errors) == (0, "4 6 ['a b']\n", "")
    assert (user.work / "result.txt").read_text() == "6"
    user.nothing_is_reserved()


def test_each_rank_can_be_two_processes_on_different_peers(user: User) -> None:
    shutil.copy(ROOT / "examples" / "41_peers" / "pi.py", user.work)
    code, output, errors = user.run("-n", "2", "-r", "2", "--staging", "chain", "--quiet", "pi.py")
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert len(lines) == 5
    assert lines[-1] == "1000000 darts of 2 ranks: 3.142060"
    user.nothing_is_reserved()


def test_too_few_places_are_told_with_what_was_found_and_nothing_stays_reserved(
    user: User,
) -> None:
    code, output, errors = user.run("-n", "7", "-w", "1", "program.py")
    assert (code, output) == (NEVER_STARTED, "")
    assert "3 hosts offered 6, 1 are missing" in errors
    user.nothing_is_reserved()


def test_a_dry_run_shows_who_would_be_asked_and_reserves_nothing(user: User) -> None:
    code, output, errors = user.run("-n", "4", "--dry-run", "program.py")
    assert (code, errors) == (0, "")
    assert set(re.findall(r"\bh[123]\b", output)) == {"h1", "h2", "h3"}
    user.nothing_is_reserved()


def test_somebody_without_a_credential_is_told_how_to_get_one(user: User) -> None:
    code, _, errors = user.run("-n", "4", "--credential", "nowhere", "program.py")
    assert code != 0
    assert "credential" in errors


@pytest.mark.parametrize(
    ("words", "seen"),
    [(("-n", "7", "-w", "60"), "2 places"), (("-n", "4"), "running: 4 ranks")],
    ids=["while it looks for places", "while the program runs"],
)
def test_ctrl_c_gives_everything_back(user: User, words: tuple[str, ...], seen: str) -> None:
    with user.start(*words, "program.py", "wait") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if seen in line:
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    user.nothing_is_reserved()
