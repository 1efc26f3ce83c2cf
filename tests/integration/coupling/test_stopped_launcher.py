"""Coupled codes need no launcher for what they have to say to each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

COMMAND = "import sys; from runtime.cli import main; sys.exit(main())"
LONG = 60.0
ROUNDS = 200
STEPS = 160

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
Path("ready0").touch()
while not Path("at-rest").exists():
    time.sleep(0.02)
for number in range({ROUNDS}):
    coupling.send(number, code="air")
    assert coupling.recv(code="air", tag=0) == number + 1
    if number % 20 == 0:
        coupling.send(heat + number, code="air")
        assert (coupling.recv(code="air", tag=0) == heat + number + 1).all()
coupling.send(None, code="air")
Path("found0").touch()
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
    [("", ""), ("", OUTWARDS)],
    ids=["direct", "dialling back"],
)
def test_coupled_codes_go_on_while_the_launcher_is_stopped(
    tmp_path: Path, ocean: str, air: str
) -> None:
    programs = CONNECTED + OCEAN, CONNECTED + AIR
    _go_on_without_launcher(tmp_path, _deploy(tmp_path, *programs, ocean, air))


TIDE = f"""
from mpi4py import MPI

comm = MPI.COMM_WORLD
line = "x" * 1023
coupled = comm.rank in (0, 2)
if coupled:
    coupling.send("here", code="air")
    until_connected("4:0:0")
    coupling.recv(code="air", tag=9)
Path(f"ready{{comm.rank}}").touch()
while not Path("at-rest").exists():
    time.sleep(0.02)
time.sleep(2)  # front-ends connect to each other meanwhile
for number in range({STEPS}):
    for _ in range(64):
        print(line)
    print(end="", flush=True)
    assert comm.allreduce(number) == number * comm.size
    if coupled:
        coupling.send(number, code="air")
        assert coupling.recv(code="air") == number + 1
    time.sleep(1 / 16)
coupling.send(None, code="air") if coupled else None
Path(f"found{{comm.rank}}").touch()
"""
WIND = """
for rank, place in ((0, "0:0:0"), (2, "2:0:0")):
    coupling.recv(code="tide", rank=rank)
    until_connected(place)
    coupling.send("go", code="tide", rank=rank, tag=9)
going = {0, 2}
while going:
    for rank in tuple(going):
        got = coupling.recv(code="tide", rank=rank)
        if got is None:
            going.discard(rank)
        else:
            coupling.send(got + 1, code="tide", rank=rank)
"""


def test_ranks_connect_for_the_first_time_compute_print_and_exchange_while_it_is_stopped(
    tmp_path: Path,
) -> None:
    """Among them are two behind front-ends, and one that has to dial back. Each prints 10 MiB."""
    (tmp_path / "tide.py").write_text(CONNECTED + TIDE)
    (tmp_path / "air.py").write_text(CONNECTED + WIND)
    clusters = ("", OUTWARDS, BEHIND, BEHIND, BEHIND)
    sites = "".join(
        f'<site><cluster {where}><mpi ranks="{2 if number == 2 else 1}"/></cluster></site>'
        for number, where in enumerate(clusters)
    )
    running = _run(
        tmp_path,
        f"""<deployment name="codes">
  <application name="tide" script="tide.py" comm-world="grid" clusters="site0 site1 site2 site3"/>
  <application name="air" script="air.py" clusters="site4"/>
  <grid>{sites}</grid></deployment>""",
    )
    said = _go_on_without_launcher(tmp_path, running, ranks=5)
    assert said.count("x" * 1023 + "\n") == 5 * STEPS * 64


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
        assert record.getMessage() == (
            "for 0.2 s now, this rank waits for the launcher to say which codes run"
        )
        Path("found0").touch()

logging.getLogger("runtime.coupling.rank_side").addHandler(Found())
rank_side.REPORT_AFTER = 0.2
Path("ready0").touch()
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


def _go_on_without_launcher(folder: Path, running: subprocess.Popen[str], ranks: int = 1) -> str:
    """Stop the launcher once all ranks are ready, until they have found what they look for."""
    try:
        for rank in range(ranks):
            _wait_for(folder / f"ready{rank}", running)
        running.send_signal(signal.SIGSTOP)
        _wait_until_at_rest(running)
        (folder / "at-rest").touch()
        for rank in range(ranks):
            _wait_for(folder / f"found{rank}", running)
        running.send_signal(signal.SIGCONT)
        said, _ = running.communicate(timeout=LONG)
        assert running.returncode == 0, said
        return said
    finally:
        running.send_signal(signal.SIGCONT)
        running.terminate()
        if running.stdout is not None and not running.stdout.closed:
            running.communicate()


def _wait_until_at_rest(running: subprocess.Popen[str]) -> None:
    """Wait for the stop: until the first thread of a process has time for it, the others go on."""
    os.waitid(os.P_PID, running.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def _wait_for(file: Path, running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + LONG
    while not file.exists():
        assert running.poll() is None, running.communicate()[0]
        assert time.monotonic() < deadline, f"{file.name} never came"
        time.sleep(0.02)
