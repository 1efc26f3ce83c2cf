"""Starts a run again and again and kills it at random; prints what is left in the end, as JSON.

Run it where nobody else uses the temporary folder and the shared memory:

    kills_at_any_time.py HOW_OFTEN VICTIM SIGNAL WAY

The victim is `gcm-deploy` or the name of processes that it starts. The way is `local`, or `sshd`,
behind which the first of two clusters is then.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from runtime.launchers.family import descendants, processes
from runtime.testing.sshd import running_sshd
from tools.on_grids import COMMAND, descriptor

FOLDER = Path("/tmp/of")
GONE_WITHIN = 20.0
LONGEST_START = {"local": 1.2, "sshd": 3.0}
PROGRAM = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"


def called(pid: int) -> str:
    with suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        if name.startswith("gcm"):
            return name
        return os.path.basename(
            os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0])
        )
    return ""


def begin_and_kill(victim: str, number: int, seconds: float) -> None:
    """Start the run, and kill after some time; who is killed has said nothing by then."""
    run = subprocess.Popen([*COMMAND, "--quiet", str(FOLDER / "grid.xml")], stderr=-3)
    time.sleep(seconds)
    if victim == "gcm-deploy":
        run.send_signal(number)
    else:
        # behind sshd they descend from that and not from the run; all are in this namespace
        for pid in descendants({os.getpid()}, processes()):
            if called(pid).startswith(victim):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
    run.wait(60)


def left(before: set[str]) -> list[str]:
    """Return the files that are left, once those are gone that others still remove."""
    end = time.monotonic() + GONE_WITHIN
    while True:
        found = {f"{path}/{name}" for path in ("/tmp", "/dev/shm") for name in os.listdir(path)}
        if not found - before or time.monotonic() > end:
            return sorted(found - before)
        time.sleep(0.05)


def main(how_often: int, victim: str, number: int, way: str) -> list[str]:
    """Return the files that were left by so many runs."""
    FOLDER.mkdir()
    (FOLDER / "program.py").write_text(PROGRAM)
    found: list[str] = []
    with ExitStack() as stack:
        hop = ""
        if way == "sshd":
            (FOLDER / "sshd").mkdir()
            server = stack.enter_context(running_sshd(FOLDER / "sshd"))
            hop = f'{server.hop}<front-end python="{sys.executable}"/>'
        (FOLDER / "grid.xml").write_text(descriptor("2|2", "program.py", way=hop))
        before = {f"/tmp/{name}" for name in os.listdir("/tmp")}
        part = (LONGEST_START[way] - 0.2) / how_often
        for turn in range(how_often):  # a moment in each part of the start
            begin_and_kill(victim, number, 0.2 + part * (turn + random.random()))
            found += left({*before, *found})
    return found


if __name__ == "__main__":
    random.seed(7)
    count, victim, name, way = sys.argv[1:]
    print(json.dumps(main(int(count), victim, signal.Signals[name], way)))
