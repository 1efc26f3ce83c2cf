"""A link that is cut for good between clusters that live: all who go on agree on who is lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PROGRAM = """
import time
from mpi4py import MPI

world = MPI.COMM_WORLD
world.barrier()
if world.rank == 0:
    print("begun", flush=True)
try:
    while True:
        world.barrier()
        time.sleep(0.01)
except MPI.Exception as error:
    world.Revoke()
    small = world.Shrink()
    print("of", small.allreduce(1), "left", flush=True)
"""


def test_clusters_that_live_and_are_cut_off_from_each_other_do_not_both_go_on(
    tmp_path: Path,
) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    (tmp_path / "program.py").write_text(PROGRAM)
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))) as grid:
        ranks = {"c0": 1, "c1": 2}
        sites = "".join(
            f"<site>{cluster_element(one, ranks[name])}</site>"
            for name, one in grid.clusters.items()
        )
        (tmp_path / "grid.xml").write_text(
            '<deployment name="t"><application script="program.py" comm-world="grid" '
            f'failures="return"/><grid>{sites}</grid></deployment>'
        )
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
        output, said = run.communicate(timeout=90)
    assert sorted(output.splitlines()) == ["of 2 left"] * 2, said
    assert run.returncode == 0, said
