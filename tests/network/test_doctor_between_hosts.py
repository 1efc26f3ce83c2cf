"""What `gcm-deploy doctor` finds between clusters on networks of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PORT = 7100


@pytest.fixture
def grid() -> Iterator[EmulatedGrid]:
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))) as made:
        yield made
        made.clear()


def test_closed_ports_by_direction_and_a_bridge_of_containers_are_found(
    grid: EmulatedGrid, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text("from mpi4py import MPI\n")
    first, second = (
        cluster_element(one, 1, reachability=inwards, port=PORT)
        for one, inwards in zip(grid.clusters.values(), ("direct", "front-end"), strict=True)
    )
    file = tmp_path / "grid.xml"

    def write(second: str) -> None:
        file.write_text(
            '<deployment><application script="program.py"/><grid>'
            f"<site>{first}</site>\n<site>{second}</site></grid></deployment>"
        )

    write(second)
    found = _examining(grid, tmp_path)
    assert found() == []
    grid.firewall("c1", [])
    assert found() == [
        ("error", "closed-port", "site0/cluster0 → site1/cluster0", 2),
    ]
    grid.open("c1")
    for words in (
        "link add docker0 type bridge",
        "addr add 172.17.0.1/16 dev docker0",
        "link set docker0 up",
    ):
        assert grid.run("c1", ["ip", *words.split()], timeout=20).returncode == 0
    # ranks on two hosts, to which mpiexec goes by itself
    write(
        second.replace("<mpi ", '<mpi options="-launcher ssh" ').replace('ranks="1"', 'ranks="2"')
        .replace("</cluster>", '<nodes hosts="c1 c0"/></cluster>')
    )  # fmt: skip
    # and whose starter listens on the network, too, since options ask for that of MPICH
    assert found() == [
        ("warning", "wrong-interface", "site1/cluster0 (10.77.1.1)", 2),
        ("warning", "open-listener", "site1/cluster0 (10.77.1.1)", 2),
    ]


def _examining(grid: EmulatedGrid, folder: Path) -> Callable[[], list[tuple[Any, ...]]]:
    def found() -> list[tuple[Any, ...]]:
        done = grid.run(
            "c0", [*COMMAND, "doctor", "--format", "json", "grid.xml"], timeout=100,
            cwd=str(folder), env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.stdout, done.stderr
        return [
            (one["severity"], one["code"], one["where"], one["line"])
            for one in json.loads(done.stdout)["findings"]
        ]

    return found
