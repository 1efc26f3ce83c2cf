"""Coupled codes need no launcher for what they have to say to each other."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.mpi

ROOT = Path(__file__).parents[3]
COMMAND = "import sys; from runtime.cli import main; sys.exit(main())"
LONG = 60.0
ROUNDS = 200

CONNECTED = """
import time
from pathlib import Path
import numpy as np
from runtime import coupling
from runtime.coupling.rank_side import mailbox

def until_connected(rank):
    side = mailbox()._mail_to.__self__
    while side._wire.mail_to(rank) is None:
        time.sleep(0.01)
"""
OCEAN = f"""

heat = np.arange(40_000.0)
coupling.send(heat, code="air")
assert (coupling.recv(code="air") == heat + 1).all()
until_connected("1:0:0")
coupling.recv(code="air", tag=9)
Path("ready").touch()
while not Path("at-rest").exists():
    time.sleep(0.02)
for number in range({ROUNDS}):
    coupling.send(number, code="air")
    assert coupling.recv(code="air", tag=0) == number + 1
    if number % 20 == 0:
        coupling.send(heat + number, code="air")
        assert (coupling.recv(code="air", tag=0) == heat + number + 1).all()
coupling.send(None, code="air")
Path("found").touch()
"""
AIR = """
coupling.send(coupling.recv(code="ocean") + 1, code="ocean")
until_connected("0:0:0")
coupling.send("go", code="ocean", tag=9)
while (got := coupling.recv(code="ocean")) is not None:
    coupling.send(got + 1, code="ocean")
"""
DESCRIPTOR = """
<deployment name="codes">
  <application name="ocean" script="ocean.py" clusters="here/ocean"/>
  <application name="air" script="air.py" clusters="there/air"/>
  <grid>
    <site name="here"><cluster name="ocean" {ocean}><mpi ranks="1"/></cluster></site>
    <site name="there"><cluster name="air" {air}><mpi ranks="1"/></cluster></site>
  </grid>
</deployment>
"""
OUTWARDS, BEHIND = 'reachability="outwards"', 'reachability="front-end"'


@pytest.mark.parametrize(
    ("ocean", "air"),
    [("", ""), ("", OUTWARDS), (BEHIND, BEHIND)],
    ids=["direct", "dialling back", "through front-ends"],
)
def test_coupled_codes_go_on_while_the_launcher_is_stopped(
    tmp_path: Path, ocean: str, air: str
) -> None:
    programs = CONNECTED + OCEAN, CONNECTED + AIR
    _go_on_without_launcher(tmp_path, _deploy(tmp_path, *programs, ocean, air))


FIRST = """
import os, time
from mpi4py import MPI
from runtime.mpi.progress import waiting

waiting.CHECK_INTERVAL = 600  # who has waited that long connects, too
comm = MPI.COMM_WORLD
if comm.rank == 0:
    open("ready", "w").close()
    while not os.path.exists("at-rest"):
        time.sleep(0.02)
    time.sleep(2)  # front-ends connect to each other meanwhile
    comm.send("first", 1)
    assert comm.recv(source=1) == "answer"
    open("found", "w").close()
else:
    assert comm.recv() == "first"
    comm.send("answer", 0)
"""


def test_ranks_make_first_connections_by_dialling_back_while_the_launcher_is_stopped(
    tmp_path: Path,
) -> None:
    (tmp_path / "first.py").write_text(FIRST)
    descriptor = f"""
<deployment name="first"><application script="first.py" comm-world="grid"/><grid>
  <site><cluster><mpi ranks="1"/></cluster></site>
  <site><cluster {OUTWARDS}><mpi ranks="1"/></cluster></site>
</grid></deployment>"""
    _go_on_without_launcher(tmp_path, _run(tmp_path, descriptor))


def test_codes_that_cannot_reach_each_other_talk_over_the_launcher(
    tmp_path: Path,
) -> None:
    ocean = """
from runtime import coupling
for number in range(20):
    coupling.send(number, code="air")
    assert coupling.recv(code="air") == number + 1
"""
    air = """
from runtime import coupling
for number in range(20):
    coupling.send(coupling.recv(code="ocean") + 1, code="ocean")
"""
    running = _deploy(tmp_path, ocean, air, OUTWARDS, OUTWARDS)
    said, _ = running.communicate(timeout=LONG)
    assert running.returncode == 0, said


JOINS = """
import logging, time
from pathlib import Path
from runtime import coupling
from runtime.coupling import rank_side

class Found(logging.Handler):
    def emit(self, record):
        assert "rank 0:0:0 waits for the launcher to say which codes run" in record.getMessage()
        Path("found").touch()

logging.getLogger("runtime.coupling.rank_side").addHandler(Found())
rank_side.REPORT_AFTER = 0.2
Path("ready").touch()
while not Path("at-rest").exists():
    time.sleep(0.02)
coupling.send(1, code="air")
"""


def test_a_rank_that_uses_coupling_first_while_the_launcher_is_stopped_says_so_and_waits(
    tmp_path: Path,
) -> None:
    air = "from runtime import coupling; assert coupling.recv(code='ocean') == 1"
    _go_on_without_launcher(tmp_path, _deploy(tmp_path, JOINS, air, "", ""))


def _deploy(folder: Path, ocean: str, air: str, *reachability: str) -> subprocess.Popen[str]:
    (folder / "ocean.py").write_text(ocean)
    (folder / "air.py").write_text(air)
    how = dict(zip(("ocean", "air"), reachability, strict=True))
    return _run(folder, DESCRIPTOR.format(**how))


def _run(folder: Path, descriptor: str) -> subprocess.Popen[str]:
    (folder / "run.xml").write_text(descriptor)
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "--progress", "never", "run.xml"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _go_on_without_launcher(folder: Path, running: subprocess.Popen[str]) -> None:
    """Stop the launcher once a file `ready` is there, until there is a file `found`."""
    try:
        _wait_for(folder / "ready", running)
        running.send_signal(signal.SIGSTOP)
        (folder / "at-rest").touch()
        _wait_for(folder / "found", running)
        running.send_signal(signal.SIGCONT)
        said, _ = running.communicate(timeout=LONG)
        assert running.returncode == 0, said
    finally:
        running.send_signal(signal.SIGCONT)
        running.terminate()
        running.communicate()


def _wait_for(file: Path, running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + LONG
    while not file.exists():
        assert running.poll() is None, running.communicate()[0]
        assert time.monotonic() < deadline, f"{file.name} never came"
        time.sleep(0.02)
