"""A launcher that is killed takes everything along within five seconds, far ends included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from runtime.launchers import family, guard
from runtime.launchers.base import Command
from runtime.launchers.errors import ConnectionLost
from runtime.launchers.hops import Hop
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import mpi_command
from runtime.native_mpi import MpiWorld, NativeMpi

LIMIT = 5.0  # what is promised
LONG = 20.0  # what a busy machine may make of it

# A launcher's whole life: starts a command at a place, says what there is, and waits to be killed.
PROGRAM = """
import json, sys, time
from pathlib import Path
from runtime.launchers.base import Command
from runtime.launchers.hops import Hop
from runtime.launchers.lines import Lines
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher

wanted = json.loads(sys.argv[1])
local = LocalLauncher()
place = local
if wanted["hops"]:
    hops = [Hop("127.0.0.1", port=port, key=Path(key), known_hosts=Path(known))
            for port, key, known in wanted["hops"]]
    place = SshLauncher(hops, local, user_folder=None)
folder = place.make_folder()
place.stage({"file": b"x"}, folder)
guards = [local.ready().guard, place.ready().guard]
said = []
def say(stream, line):
    said.append(line)
    if len(said) == wanted["lines"]:
        print(json.dumps({"guards": guards, "folder": folder}), flush=True)
place.start(Command(wanted["argv"], wanted["environment"]), Lines(say))
time.sleep(1000)
"""

STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
for wander in (0, 1, 2):
    if os.fork() == 0:
        if wander: os.setsid()
        if wander == 2 and os.fork() != 0: os._exit(0)
        os.write(1, b"up\\n"); time.sleep(1000)
os.write(1, b"up\\n"); time.sleep(1000)
"""


class Server(Protocol):
    """The sshd of conftest."""

    def hop(self, name: str = "plain") -> Hop: ...


class Mpi(Protocol):
    """An MPI of conftest."""

    native: NativeMpi
    mpiexec: str
    python: str


Gone = Callable[[list[int], float], list[int]]


def kill_and_look(
    tmp_path: Path, wait_gone: Gone, hops: list[Hop], wanted: dict[str, object]
) -> int:
    """Start a launcher, kill it, check that nothing stays, and return how much there was."""
    wanted = {**wanted, "hops": [(hop.port, str(hop.key), str(hop.known_hosts)) for hop in hops]}
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(wanted)],
        stdout=subprocess.PIPE,
        cwd=root,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(root)},
    ) as launcher:
        assert launcher.stdout is not None
        there = json.loads(launcher.stdout.readline())
        started = family.descendants(set(there["guards"]), family.processes())
        started |= set(there["guards"])
        launcher.kill()
        left = wait_gone(sorted(started), LONG)
        assert [pid for pid in left if pid not in {*there["guards"]}] == []
        assert left == []
    assert not Path(there["folder"]).exists()
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("gcm-")] == []
    return len(started)


def test_the_polite_and_the_final_end_of_a_family_fit_into_five_seconds() -> None:
    assert 2 * guard.GRACE < LIMIT


@pytest.mark.needs_sshd
@pytest.mark.parametrize("depth", [0, 1, 2], ids=["local", "ssh", "ssh-jump"])
def test_a_killed_launcher_takes_a_stubborn_family_along(
    tmp_path: Path, wait_gone: Gone, request: pytest.FixtureRequest, depth: int
) -> None:
    server: Server | None = request.getfixturevalue("sshd") if depth else None
    hops = [server.hop(name) for name in ("jump", "plain")[2 - depth :]] if server else []
    wanted = {"argv": [sys.executable, "-c", STUBBORN], "environment": {}, "lines": 4}
    assert kill_and_look(tmp_path, wait_gone, hops, wanted) >= 5


@pytest.mark.mpi
def test_a_killed_launcher_takes_mpiexec_and_its_ranks_along(
    tmp_path: Path, wait_gone: Gone, mpi: Mpi
) -> None:
    program = "import time; from mpi4py import MPI; print('up', flush=True); time.sleep(1000)"
    command = mpi_command(
        MpiWorld((mpi.python, "-c", program), 2, mpi.mpiexec),
        mpi.native,
        is_root=os.getuid() == 0,
    )
    wanted = {"argv": command.argv, "environment": dict(command.environment), "lines": 2}
    assert kill_and_look(tmp_path, wait_gone, [], wanted) >= 4


def test_a_guard_that_is_asked_to_end_cleans_up_first(tmp_path: Path, wait_gone: Gone) -> None:
    wanted = {
        "argv": [sys.executable, "-c", STUBBORN], "environment": {}, "lines": 4, "hops": [],
    }  # fmt: skip
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(wanted)],
        stdout=subprocess.PIPE,
        cwd=root,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(root)},
    ) as launcher:
        assert launcher.stdout is not None
        there = json.loads(launcher.stdout.readline())
        asked = there["guards"][0]
        started = family.descendants({asked}, family.processes())
        os.kill(asked, signal.SIGTERM)
        assert wait_gone([asked, *started], LONG) == []
        assert not Path(there["folder"]).exists()
        launcher.kill()


def test_a_guard_that_is_killed_is_told_and_its_commands_end_with_all_that_they_started(
    local: LocalLauncher, wait_gone: Gone
) -> None:
    below = Collected()
    process = local.start(Command(("sh", "-c", "setsid sleep 1000 & echo $!; wait")), below)
    process.started(10)
    assert process.pid is not None
    while not below.output:
        time.sleep(0.01)
    os.kill(local.ready().guard, signal.SIGKILL)
    with pytest.raises(ConnectionLost, match="SIGKILL"):
        process.wait(10)
    assert wait_gone([process.pid, int(below.output)], LONG) == []
