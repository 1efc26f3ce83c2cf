"""A lab on hosts with networks of their own: addresses, round trips, partitions, firewalls."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.credentials.authority import Authority
from runtime.peers.model import Address, Principal
from tests.integration.peers.labs import eventually
from tools.on_grids import ROOT

pytestmark = pytest.mark.needs_root

LAUNCH = """
import os, sys, time
from pathlib import Path
from runtime.launchers.base import Command
from runtime.launchers.peer import PeerLauncher
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import Launch, Reservation
from runtime.peers.credentials.credential import Credential
from runtime.peers.model import Address

alice = MemberDialler(Credential.read(Path(sys.argv[1])))
address, key = Address.parse(sys.argv[2]), os.urandom(16).hex()
with alice.dial(address) as connection:
    connection.stub(Reservation).reserve(alice.me, key, "app", 1, 30.0)

def connect(size, marker):
    connection = alice.dial(address)
    connection.stub(Launch).launch(alice.me, key, "app", [[0, 0]], [size, *marker])
    return connection.detach(), ""

with PeerLauncher(connect, place="c2") as launcher:
    launcher.start(Command(("sleep", "600")))
    time.sleep(600)
"""
RESERVE = """
import os, sys, time
from pathlib import Path
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import Reservation
from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import PeerError
from runtime.peers.model import Address

alice = MemberDialler(Credential.read(Path(sys.argv[1])), 1.0)
address, key = Address.parse(sys.argv[2]), os.urandom(16).hex()
with alice.dial(address) as connection:
    connection.stub(Reservation).reserve(alice.me, key, "app", 1, 5.0)
was_cut_off = False
while True:
    time.sleep(0.2)
    try:
        with alice.dial(address) as connection:
            is_there = connection.stub(Reservation).renew(alice.me, key, 5.0)
    except PeerError:
        was_cut_off = True
        continue
    if not is_there:
        print("it has run out, and", "I was cut off" if was_cut_off else "nobody knows why")
        break
"""
PEER = "import sys; from runtime.cli import peer_main; sys.exit(peer_main())"
SETTINGS = """\
alive_every = 0.3
expire_after = 1.5
exchange_every = 0.3
ping_every = 0.3
lease = 5
"""
WAN = Line(delay=0.005, rate=1e9)


class HostsOfLab:
    """A supernode in c0, and peers named as their hosts in c1, of the same site, and c2."""

    def __init__(self, grid: EmulatedGrid, base: Path) -> None:
        self.grid, self.base = grid, base
        supernode = Address(grid.clusters["c0"].address, 7700)
        now = datetime.datetime.now(datetime.UTC)
        lab = Authority.create("ourlab", base / "lab", now, [supernode])
        for host, who in (("c0", "supernode:c0"), ("c1", "peer:c1"), ("c2", "peer:c2")):
            folder = PeerFolder(base / host)
            folder.make()
            lab.invite(Principal.parse(who), now).write(folder.credential)
            folder.configuration.write_text(SETTINGS)
        self.alice = base / "alice"
        lab.invite(Principal.parse("user:alice"), now).write(self.alice)

    def peer(self, host: str, command: str) -> tuple[int, str]:
        """Run a command of `gcm-peer` at a host, with its folder."""
        argv = [sys.executable, "-c", PEER, command, "--folder", str(self.base / host)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = self.grid.run(host, [*argv, "--json"], timeout=60, env=environment)
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout

    def start(self) -> None:
        """Start all three."""
        for host, command in (("c0", "supernode"), ("c1", "boot"), ("c2", "boot")):
            code, told = self.peer(host, command)
            expected = self.grid.clusters[host].address
            assert (code, json.loads(told)["address"].partition(":")[0]) == (0, expected)

    def faults(self, host: str, about: str) -> list[str]:
        """Return what a peer says is wrong about somebody."""
        told = json.loads(self.peer(host, "status")[1])["membership"]["faults"]
        return [fault for fault in told if fault.startswith(about)]

    def runs(self, host: str) -> list[dict[str, Any]]:
        """Return what is reserved or runs at a peer."""
        found: list[dict[str, Any]] = json.loads(self.peer(host, "status")[1])["reservation"][
            "runs"
        ]
        return found

    def hosts(self, host: str) -> dict[str, Any]:
        """Return the round trips to those that a host knows and does not take for silent."""
        found = json.loads(self.peer(host, "hosts")[1])
        return {one["name"]: one.get("milliseconds") for one in found if not one.get("silent")}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[HostsOfLab]:
    """Yield a lab none of whose daemons is started yet."""
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((2, 1), wan=WAN)) as grid:
        made = HostsOfLab(grid, tmp_path)
        yield made
        for host in ("c2", "c1", "c0"):
            made.peer(host, "halt")


def test_peers_measure_how_far_they_are_and_say_who_cannot_be_reached(lab: HostsOfLab) -> None:
    lab.start()
    rtt = eventually(lambda: lab.hosts("c1").get("peer:c2"))
    assert rtt is not None
    assert rtt > 1000 * 2 * WAN.delay  # there and back

    lab.grid.cut("c0", "c2")
    eventually(lambda: "peer:c2" not in lab.hosts("c1"))
    lab.grid.firewall("c2")
    lab.grid.heal("c0", "c2")
    [fault] = eventually(lambda: lab.faults("c2", "peer:c2"))
    assert fault.startswith("peer:c2 at 10.77.1.1:7701: nobody has answered within 5 s. Check")
    assert "peer:c2" not in lab.hosts("c0")
    lab.grid.open("c2")
    eventually(lambda: "peer:c2" in lab.hosts("c1"))
    eventually(lambda: not lab.faults("c2", "peer:c2"))  # it hears of that a little later

    # A user's machine goes away without a word: what it has started ends, its places are free.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", LAUNCH, str(lab.alice), "10.77.1.1:7701"]
    lab.grid.popen("c1", argv, env=environment)
    eventually(lambda: [run["phase"] for run in lab.runs("c2")] == ["confirmed"])
    lab.grid.cut("c1", "c2")
    eventually(lambda: lab.runs("c2") == [])


def test_a_lease_outlives_a_host_that_is_cut_off_for_no_longer_than_it_lasts(
    lab: HostsOfLab,
) -> None:
    lab.start()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", RESERVE, str(lab.alice), "10.77.1.1:7701"]
    with lab.grid.popen("c1", argv, env=environment, stdout=subprocess.PIPE) as submission:
        eventually(lambda: [run["phase"] for run in lab.runs("c2")] == ["reserved"])
        lab.grid.cut("c1", "c2")
        eventually(lambda: lab.runs("c2") == [])
        lab.grid.heal("c1", "c2")
        told, _ = submission.communicate(timeout=60)
    assert told == "it has run out, and I was cut off\n"
