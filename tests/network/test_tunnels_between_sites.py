"""Clusters whose sites accept nothing but ssh from the launcher's host exchange messages."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from benchmarks.grid import Line, missing
from tests.network.isolated_sites import LAUNCHER, SITES, IsolatedSites
from tests.network.walls import missing_walls

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_sshd, pytest.mark.mpi]

PROGRAM = """\
import hashlib
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other = (world.rank + world.size // 2) % world.size
mine, theirs = (hashlib.shake_128(b"%d" % rank).digest(8 << 20) for rank in (world.rank, other))
heard = bytearray(8 << 20)
world.Sendrecv(mine, other, recvbuf=heard, source=other)
total = world.allreduce(np.arange(100_000) * world.rank)
parts = world.alltoall([(world.rank, one) for one in range(world.size)])
right = [(one, world.rank) for one in range(world.size)]
print(world.rank, heard == theirs, int(total[-1]), parts == right, flush=True)
"""

KNOCK = """\
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 1).close()
    print("open")
except TimeoutError:
    print("closed")
"""


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IsolatedSites]:
    if lacking := missing() or missing_walls():
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("sites")
    with IsolatedSites.started(folder, Line(delay=0.002, rate=1e9)) as made:
        yield made


def test_sites_that_let_in_nothing_but_ssh_have_a_tunnel(sites: IsolatedSites) -> None:
    path = sites.descriptor(PROGRAM, 2)
    code, output, errors = sites.run("--quiet", "--format", "json", str(path), timeout=100)
    assert code == 0, errors
    *printed, last = output.splitlines()
    assert sorted(printed) == [f"{rank} True 599994 True" for rank in range(4)]
    summary = json.loads(last)
    (tunnel,) = summary["connections"]["tunnels"]
    assert (tunnel["first"], tunnel["second"]) == ("c1/cluster0", "c2/cluster0")
    # ranks 0 and 2, 1 and 3 talk: one for each pair, two where both ends open one at the same time
    assert 2 <= tunnel["connections"] <= 4
    assert min(tunnel["sent"], tunnel["received"]) > 16 << 20
    assert tunnel["round_trip"] > 0.004, "twice 2 ms there and back, one way to each site"
    (ways,) = summary["connections"]["ways"]
    assert list(ways["routes"]) == ["through c1/cluster0, c2/cluster0"]


def test_their_walls_are_real(sites: IsolatedSites) -> None:
    """Neither site reaches the other one or the launcher's host, not even at a port of sshd."""
    one, two = SITES
    for source, target, port in ((one, two, two), (two, one, one), (one, LAUNCHER, one)):
        address, number = sites.grid.clusters[target].address, sites.servers[port].port
        words = ["python3", "-c", KNOCK, address, str(number)]
        assert sites.grid.run(source, words, timeout=20).stdout == "closed\n"


def test_a_dry_run_says_that_there_will_be_a_tunnel(sites: IsolatedSites) -> None:
    path = sites.descriptor(PROGRAM, 2, "outwards")
    code, output, errors = sites.run("--dry-run", str(path), timeout=60)
    assert code == 0, errors
    assert "  tunnels\n    after front-end:0:0, front-end:1:0\n" in output
