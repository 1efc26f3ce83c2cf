"""Right programs on a processor that is overloaded: nobody is suspected, or said to have failed."""

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


needs_taskset = pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")


def run_on_one_core(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    core = str(min(os.sched_getaffinity(0)))
    return subprocess.run(
        ["taskset", "--cpu-list", core, *COMMAND, "--progress", "never", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@needs_taskset
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
    done = run_on_one_core(tmp_path, str(descriptor))
    assert done.returncode == 0, done.stderr
    assert "computed True" in done.stdout
    assert not re.search("suspect|silent|stopped|lost", done.stderr), done.stderr


SUM = """\
from mpi4py import MPI
total = MPI.COMM_WORLD.allreduce(1)
if MPI.COMM_WORLD.rank == 0:
    print("sum", total, flush=True)
"""


@needs_taskset
def test_ranks_of_twelve_clusters_on_one_core_all_get_the_last_messages(tmp_path: Path) -> None:
    (tmp_path / "sum.py").write_text(SUM, encoding="utf-8")
    done = run_on_one_core(tmp_path, "--emulate", "4x3x2", "--timeout", "100", "sum.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "sum 24\n", "")
