"""Ranks that compute for long without calling the library, on a processor that is overloaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.on_grids import COMMAND, ROOT

pytestmark = pytest.mark.mpi

# One call of C that keeps the interpreter's lock for about two seconds if it has a core alone.
PROGRAM = """\
import itertools, time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
begun = time.process_time()
sum(itertools.repeat(1, 2_000_000))
each = (time.process_time() - begun) / 2_000_000
begun = time.monotonic()
sum(itertools.repeat(1, int(2 / each)))
took = world.allreduce(time.monotonic() - begun, MPI.MIN)
if world.rank == 0:
    print("computed", took > 3, flush=True)
"""


@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")
def test_four_ranks_that_compute_on_one_core_for_longer_than_the_timeout_are_not_suspected(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    descriptor = tmp_path / "grid.xml"
    descriptor.write_text(
        '<deployment name="busy"><application script="program.py" failures="return"/>'
        '<failure-detector timeout="2s" frozen="lost"/>'
        '<emulate sites="2" ranks="2"/></deployment>',
        encoding="utf-8",
    )
    core = str(min(os.sched_getaffinity(0)))
    done = subprocess.run(
        ["taskset", "--cpu-list", core, *COMMAND, "--progress", "never", str(descriptor)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "computed True" in done.stdout
    assert not re.search("suspect|silent|stopped|lost", done.stderr), done.stderr
