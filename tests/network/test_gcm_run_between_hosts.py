"""`gcm-run` on peers in networks of their own, with two supernodes, one of which dies."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, missing
from benchmarks.grid.peers import PeersOnHosts
from tests.network.power_cuts import PROGRAMS, WAN, lab_of, show

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

SITES = tuple(map(int, os.environ.get("GCM_TEST_SITES", "2,2").split(",")))
"""How many hosts each site has; GCM_TEST_SITES=8,8 takes some minutes."""

PROGRAM = """\
import random
from mpi4py import MPI
world = MPI.COMM_WORLD
chance = random.Random(world.rank)
hits = sum(chance.random() ** 2 + chance.random() ** 2 < 1 for _ in range(20000))
total = world.allreduce(hits)
if world.rank == 0:
    print(world.size, total, flush=True)
"""

WHERE = """\
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    print(MPI.COMM_WORLD.size, "ranks")
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[PeersOnHosts]:
    """Yield a lab that is not started yet."""
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout(SITES, wan=WAN)) as grid:
        hosts = list(grid.clusters)
        firsts = [hosts[0], hosts[SITES[0]]]
        made = PeersOnHosts(grid, tmp_path, firsts, hosts[0], hosts)
        (made.work / "pi.py").write_text(PROGRAM)
        try:
            yield made
        finally:
            made.stop()


@pytest.mark.timeout(600)
def test_near_peers_are_a_site_and_a_run_needs_only_one_of_the_supernodes(
    lab: PeersOnHosts,
) -> None:
    lab.start()
    lab.await_all_known()
    ranks = sum(SITES) // 2
    code, output, errors = lab.run("--verbose", "-n", str(ranks), "-r", "2", "-w", "60", "pi.py")
    assert code == 0, errors
    sites = {host: site for site, host in re.findall(r"(site\d+)/(c\d+): reached", errors)}
    assert len(sites) == sum(SITES), errors
    near = [sites[host] for host in lab.peers[: SITES[0]]]
    far = [sites[host] for host in lab.peers[SITES[0] :]]
    assert not set(near) & set(far)

    lab.kill(lab.supernodes[0])
    again = lab.run("-n", str(ranks), "-r", "2", "-w", "60", "--quiet", "pi.py")
    assert again == (0, output, "")


@pytest.mark.timeout(300)
def test_mixed_puts_a_whole_copy_at_each_of_two_sites_that_are_equally_far_away(
    tmp_path: Path,
) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((1, 2, 2), wan=WAN)) as grid:
        user, *peers = grid.clusters
        lab = PeersOnHosts(grid, tmp_path, [user], user, peers)
        (lab.work / "where.py").write_text(WHERE)
        try:
            lab.start()
            code, output, errors = lab.run(
                "--verbose", "-n", "2", "-r", "2", "-a", "mixed", "where.py"
            )
            _, planned, _ = lab.run("--dry-run", "-n", "8", "where.py")
        finally:
            lab.stop()
    assert code == 0, errors
    sites = {host: site for site, host in re.findall(r"(site\d+)/(c\d+): reached", errors)}
    assert sorted(sites.values()) == ["site0", "site1"], errors
    assert len({grid.clusters[host].site for host in sites}) == 2
    assert output == "2 ranks\n"
    of = dict(re.findall(r"(c\d+) +[\d.]+ ms +(site\d)", planned))
    assert of.keys() == set(peers), planned
    assert of[peers[0]] == of[peers[1]] != of[peers[2]] == of[peers[3]]


@pytest.mark.timeout(300)
def test_the_output_is_that_of_an_undisturbed_run_when_a_host_loses_power(tmp_path: Path) -> None:
    """`python -m tests.network.power_cuts` does it ten times, with 16 peers."""
    if lacking := missing():
        pytest.skip(lacking)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    with lab_of(4, tmp_path) as lab:
        assert not show(lab, 1, seed, PROGRAMS[:1])
