"""A lab behind the firewall that its page asks for, with one peer behind address translation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from benchmarks.grid.peers import SETTINGS, PeersOnHosts
from tests.network.walls import Walls, missing_walls

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

OPEN = "7700,7701:7709"
"""What docs/peers.md asks administrators to open."""

PROGRAM = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
others = [one for one in range(world.size) if one != world.rank]
sent = [world.isend((world.rank, bytes(100_000)), one) for one in others]
heard = sorted(world.recv()[0] for _ in range(world.size - 1))
print(world.rank, heard == others, flush=True)
MPI.Request.waitall(sent)
"""
DESCRIPTOR = '<deployment><application script="all.py"/><peers ranks="{}" wait="5s"/></deployment>'


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[PeersOnHosts, Walls]]:
    """Yield a started lab of three peers, `c2` behind address translation."""
    if lacking := missing() or missing_walls():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((3,), lan=Line(delay=0.0005, rate=1e9))) as grid:
        hosts, walls = list(grid.clusters), Walls(grid)
        made = PeersOnHosts(grid, tmp_path, hosts[:1], hosts[0], hosts)
        (made.work / "all.py").write_text(PROGRAM)
        for ranks in (4, 6):
            (made.work / f"peers{ranks}.xml").write_text(DESCRIPTOR.format(ranks))
        for host in hosts:
            walls.forget_names(host)
            walls.close_but(host, OPEN)
        made.within["c2"] = walls.translate("c2", 9000, 7701)
        address = f'address = "{grid.clusters["c2"].address}:9000"\n'
        (tmp_path / "c2" / "peer.toml").write_text(SETTINGS + address)
        try:
            made.start()
            yield made, walls
        finally:
            made.stop()
            walls.close()


@pytest.mark.timeout(300)
def test_ranks_reach_each_other_directly_and_the_doctor_names_what_is_closed(
    lab: tuple[PeersOnHosts, Walls],
) -> None:
    peers, walls = lab
    at = {host: f"{one.address}:7701" for host, one in peers.grid.clusters.items()}
    at["c2"] = at["c2"].replace("7701", "9000")

    code, output, errors = peers.run("-n", "6", "-w", "30", "--verbose", "all.py", timeout=100)
    assert code == 0, errors
    assert sorted(output.splitlines()) == [f"{rank} True" for rank in range(6)]
    routes = re.findall(r"ranks of \S+/(c\d) - \S+/(c\d), (\S+) ", errors)
    assert sorted((*sorted(ends), way) for *ends, way in routes) == [
        ("c0", "c1", "direct"),
        ("c0", "c2", "direct"),
        ("c1", "c2", "direct"),
    ]
    code, output, errors = peers.deploy("doctor", "--quiet", "peers6.xml")
    assert (code, errors) == (0, "")
    closing = "1 host; 3 of 3 peers answer, 6 of 6 ways between them are open, nothing wrong"
    assert output.splitlines()[-1] == closing

    for source, target in (("c1", "c2"), ("c2", "c1"), ("c1", "c0")):
        walls.lose(source, target)
    with ThreadPoolExecutor() as threads:  # both wait until nobody answers
        refused = threads.submit(peers.run, "-n", "6", "-w", "1", "--quiet", "all.py", timeout=60)
        code, output, _ = peers.deploy("doctor", "--quiet", "--format", "json", "peers6.xml")
        refusal, _, errors = refused.result()
    opened = f"open TCP to {at['c2']} from c1 or TCP to {at['c1']} from c2"
    assert code == 206
    found = {one["code"]: (one["where"], one["fix"]) for one in json.loads(output)["findings"]}
    assert found["peers-apart"] == ("c1 and c2", opened)
    assert found["way-closed"] == ("c1 to c0", f"open TCP to {at['c0']} from c1")
    assert found.keys() == {"peers-apart", "way-closed", "too-few-places"}
    assert refusal == 203
    assert f"c1 does not reach c2 at {at['c2']}: nobody has answered" in errors
    assert opened in errors
    code, output, errors = peers.run("-n", "4", "-w", "9", "--quiet", "all.py", timeout=60)
    assert (code, errors) == (0, "")
    assert len(output.splitlines()) == 4

    peers.kill("c1")
    code, output, _ = peers.deploy("doctor", "--quiet", "--format", "json", "peers4.xml")
    findings = json.loads(output)["findings"]
    assert code == 0
    assert [(one["code"], one["where"]) for one in findings] == [("peer-unreachable", "c1")]
    assert at["c1"] in findings[0]["what"]
