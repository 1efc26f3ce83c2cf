"""Ranks find each other by the addresses of hosts whose names nobody else knows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from tests.network.walls import Walls, missing_walls
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PROGRAM = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
print(world.allgather(world.rank), flush=True)
"""
ORDERS = (
    "rule add ipproto udp dport 53 unreachable",  # else each unknown name takes seconds
    "link add docker0 type veth peer name vethc",
    "addr add 172.17.0.1/16 dev docker0",
    "link set docker0 up",
)


def test_a_connection_is_direct_though_no_name_is_known(tmp_path: Path) -> None:
    """A bridge to containers with an address of its own is not among those that are tried."""
    if lacking := missing() or missing_walls():
        pytest.skip(lacking)
    (tmp_path / "program.py").write_text(PROGRAM)
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=1e9))) as grid:
        walls = Walls(grid)
        sites = ""
        for host, cluster in grid.clusters.items():
            walls.forget_names(host)
            for order in ORDERS:
                assert grid.run(host, ["ip", *order.split()], timeout=20).returncode == 0
            sites += f"<site>{cluster_element(cluster, 1, reachability='direct')}</site>"
        (tmp_path / "grid.xml").write_text(
            f'<deployment><application script="program.py"/><grid>{sites}</grid></deployment>'
        )
        words = [*COMMAND, "--quiet", "--format", "json", "grid.xml"]
        settings = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = grid.run("c0", words, timeout=100, cwd=str(tmp_path), env=settings)
    assert done.returncode == 0, done.stderr
    *printed, last = done.stdout.splitlines()
    assert printed == ["[0, 1]", "[0, 1]"]
    (ways,) = json.loads(last)["connections"]["ways"]
    assert list(ways["routes"]) == ["direct"]
