"""`gcm-run` on peers in networks of their own, with two supernodes, one of which dies."""

from __future__ import annotations

import datetime
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from runtime.peers.configuration import PeerFolder
from runtime.peers.credentials import Authority
from runtime.peers.daemon import find_running
from runtime.peers.model import Address, Principal

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

ROOT = Path(__file__).parents[2]
PEER = "import sys; from runtime.peers.commands.peer_command import main; sys.exit(main())"
RUN = "import sys; from runtime.cli import run_main; sys.exit(run_main())"
WAN = Line(delay=0.01, rate=1e9)
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


class Lab:
    """A peer on each host, a supernode on the first host of the first two sites."""

    def __init__(self, grid: EmulatedGrid, base: Path) -> None:
        self.grid, self.base = grid, base
        self.hosts = list(grid.clusters)
        firsts = [self.hosts[0], self.hosts[SITES[0]]]
        self.supernodes = [f"{host}-s" for host in firsts]
        nodes = [Address(grid.clusters[host].address, 7700) for host in firsts]
        now = datetime.datetime.now(datetime.UTC)
        lab = Authority.create("ourlab", base / "lab", now, nodes)
        members = [(f"{host}-s", f"supernode:{host}") for host in firsts]
        members += [(host, f"peer:{host}") for host in self.hosts]
        for name, who in members:
            folder = PeerFolder(base / name)
            folder.make()
            lab.invite(Principal.parse(who), now).write(folder.credential)
            folder.configuration.write_text(
                "processes = 1\nalive_every = 1\nexchange_every = 0.3\n"
            )
        lab.invite(Principal.parse("user:ana"), now).write(base / "ana.credential")
        (base / "work").mkdir()
        (base / "work" / "pi.py").write_text(PROGRAM)

    def start(self) -> None:
        """Start all: the supernodes first."""
        for name in self.supernodes:
            self._peer(name, "supernode")
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda name: self._peer(name, "boot"), self.hosts))

    def stop(self) -> None:
        """End all that still run."""
        for name in (*self.hosts, *self.supernodes):
            if found := find_running(PeerFolder(self.base / name)):
                found.halt()

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run `gcm-run` at the first host."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "GCM_FOLDER": str(self.base / "gcm"),
            "GCM_CREDENTIAL": str(self.base / "ana.credential"),
        }
        done = self.grid.run(
            self.hosts[0], [sys.executable, "-c", RUN, *words],
            timeout=140, env=environment, cwd=str(self.base / "work"),
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def _peer(self, name: str, command: str) -> None:
        argv = [sys.executable, "-c", PEER, command, "--folder", str(self.base / name)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        host = name.removesuffix("-s")
        done = self.grid.run(host, argv, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Yield a lab that is not started yet."""
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout(SITES, wan=WAN)) as grid:
        made = Lab(grid, tmp_path)
        try:
            yield made
        finally:
            made.stop()


@pytest.mark.timeout(600)
def test_near_peers_are_a_site_and_a_run_needs_only_one_of_the_supernodes(lab: Lab) -> None:
    lab.start()
    ranks = sum(SITES) // 2
    code, output, errors = lab.run("-n", str(ranks), "-r", "2", "-w", "60", "pi.py")
    assert code == 0, errors
    sites = {host: site for site, host in re.findall(r"(site\d+)/(c\d+): reached", errors)}
    assert len(sites) == sum(SITES)
    near = [sites[host] for host in lab.hosts[: SITES[0]]]
    far = [sites[host] for host in lab.hosts[SITES[0] :]]
    assert not set(near) & set(far)

    supernode = find_running(PeerFolder(lab.base / lab.supernodes[0]))
    assert supernode is not None
    os.kill(supernode.pid, 9)
    again = lab.run("-n", str(ranks), "-r", "2", "-w", "60", "--quiet", "pi.py")
    assert again == (0, output, "")
