"""A rank that leaves a process behind which keeps what the rank had open."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tools.on_grids import COMMAND, ROOT

pytestmark = pytest.mark.mpi

PROGRAM = """
import os, time
from mpi4py import MPI
if MPI.COMM_WORLD.allreduce(1) and MPI.COMM_WORLD.rank == 1:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(100)
        os._exit(0)
    os.wait()
"""


def test_it_is_named_and_ends_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [*COMMAND, "--emulate", "1x1x2", "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = re.fullmatch(
        r"rank 1 has ended, and left what keeps its connection open: process (\d+) \(.*\)\. After"
        r" 2 s without a word of it the run ends, and that with it\n",
        done.stderr,
    )
    assert told, done.stderr
    assert not Path(f"/proc/{told[1]}").exists()
