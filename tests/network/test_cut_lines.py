"""A line between two clusters that is cut, from the beginning or later: it is named, and how."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from runtime.exit_codes import LOST
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PROGRAM = """
import time
from mpi4py import MPI

world = MPI.COMM_WORLD
if WAITS:
    world.barrier()
if world.rank == 0:
    print("begun", flush=True)
while True:
    world.barrier()
    time.sleep(0.01)
"""


@pytest.mark.parametrize("when", ["at first", "later"])
def test_the_line_is_named_from_where_to_where(tmp_path: Path, when: str) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    (tmp_path / "program.py").write_text(f"WAITS = {when == 'later'}{PROGRAM}")
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))) as grid:
        sites = "".join(f"<site>{cluster_element(one, 2)}</site>" for one in grid.clusters.values())
        (tmp_path / "grid.xml").write_text(
            '<deployment name="t"><application script="program.py" comm-world="grid"/>'
            f"<grid>{sites}</grid></deployment>"
        )
        if when == "at first":
            grid.cut("c0", "c1")
        run = grid.popen(
            "c0",
            [*COMMAND, "--quiet", "grid.xml"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=str(tmp_path),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        grid.cut("c0", "c1")
        _, said = run.communicate(timeout=120)
    assert run.returncode == LOST, said
    ends = ("site0/cluster0", "site1/cluster0")
    lines = [f"the line from {one} to {other} is cut" for one, other in (ends, ends[::-1])]
    assert any(line in said for line in lines), said
    if when == "at first":  # long before all routes have failed
        first = said.splitlines()[0]
        assert any(first.startswith(f"the line from {ends[n]} to {ends[1 - n]}") for n in (0, 1)), (
            said
        )
        assert "is closed: nothing on it has reached rank" in first
    assert "Traceback" not in said
    assert "may not have received" not in said
