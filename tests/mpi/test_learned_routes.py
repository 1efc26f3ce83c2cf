"""What one rank learns of routes spares the others of its cluster: over networks with firewalls."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PORT = 7100
"""Where the front-end of the second cluster forwards; nothing else of it can be reached."""

PRIVATE = "192.168.7.1/24"
"""The address that a machine of each site has."""

ONE_AFTER_THE_OTHER = """
import time
from mpi4py import MPI
from runtime.mpi.progress import waiting

comm = MPI.COMM_WORLD
there = comm.size - 1
if comm.rank == there:
    waiting.CHECK_INTERVAL = 60  # who has waited that long dials, too
    for rank in range(there):
        for _ in range(20):
            comm.send(comm.recv(source=rank), rank)
else:
    if comm.rank:
        comm.recv(source=comm.rank - 1)
    begun = time.monotonic()
    for _ in range(20):
        comm.send("ping", there)
        comm.recv(source=there)
    print(comm.rank, time.monotonic() - begun)
    if comm.rank + 1 < there:
        comm.send("your turn", comm.rank + 1)
"""


@pytest.fixture
def grid() -> Iterator[EmulatedGrid]:
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=1e9)), private=[PRIVATE]) as made:
        yield made


def deploy(grid: EmulatedGrid, folder: Path, program: str, ranks: tuple[int, ...]) -> Any:
    """Run a program with so many ranks in each cluster; return its lines and the summary."""
    (folder / "program.py").write_text(program)
    sites = "".join(
        f"<site>{cluster_element(one, count, reachability='direct', port=PORT)}</site>"
        for one, count in zip(grid.clusters.values(), ranks, strict=True)
    )
    (folder / "grid.xml").write_text(
        '<deployment name="t"><application script="program.py" comm-world="grid"/>'
        f"<grid>{sites}</grid></deployment>"
    )
    done = grid.run(
        "c0",
        [*COMMAND, "--format", "json", str(folder / "grid.xml")],
        timeout=100,
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    *lines, summary = done.stdout.splitlines()
    return lines, json.loads(summary)


def test_a_firewall_that_lets_the_other_end_dial_costs_nobody_seconds(
    grid: EmulatedGrid, tmp_path: Path
) -> None:
    grid.firewall("c1", [PORT])
    lines, summary = deploy(grid, tmp_path, ONE_AFTER_THE_OTHER, (3, 1))
    taken = {int(rank): float(seconds) for rank, seconds in map(str.split, lines)}
    assert max(taken.values()) < 3.0
    (pair,) = summary["connections"]["ways"]
    assert pair["between"] == ["site0/cluster0", "site1/cluster0"]
    assert pair["routes"] == {"direct": 3}


def test_an_address_that_both_sites_use_does_not_mislead(
    grid: EmulatedGrid, tmp_path: Path
) -> None:
    mistaken = f"{PRIVATE.partition('/')[0]} c1"
    command = ["sh", "-c", f"echo '{mistaken}' | cat - /etc/hosts > hosts; cat hosts > /etc/hosts"]
    assert grid.run("c0", command, timeout=10, cwd=str(tmp_path)).returncode == 0
    lines, summary = deploy(grid, tmp_path, ONE_AFTER_THE_OTHER, (2, 1))
    assert len(lines) == 2
    (pair,) = summary["connections"]["ways"]
    assert pair["routes"] == {"direct": 2}  # the other machine was left for the next address
