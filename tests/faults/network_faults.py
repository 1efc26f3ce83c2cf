"""Hosts with networks between them, reached by a real sshd each, and what befalls them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from xml.sax.saxutils import quoteattr

from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.grid.sweeping import inside
from runtime.testing.sshd import running_sshd
from tests.faults.fault_kinds import Fault, Kind, Place, Places, Popen, found_called
from tests.leftovers import in_order_of_start
from tools.on_grids import sizes_of

_RATE = 400e6
_LINES = {
    "delayed by 500 ms": Line(delay=0.5, rate=_RATE),
    "slow": Line(delay=0.001, rate=50e6),
    "loss": Line(delay=0.001, rate=_RATE, loss=0.02),
}
_RULES = {
    "reset": "-p tcp -j REJECT --reject-with tcp-reset",
    "refused": "-j REJECT",
    "firewall": "-m conntrack --ctstate NEW -j DROP",
    "black hole": "-m length --length 1000:65535 -j DROP",
}
"""What a filter does with the packets of another host."""


class Hosts(Place):
    """One host for each cluster, a site each; the launcher and the first cluster share one."""

    def __init__(
        self, folder: Path, grid: EmulatedGrid, layout: str, servers: dict[str, tuple[int, str]]
    ) -> None:
        super().__init__(folder, layout)
        self._grid = grid
        self._sizes = [size for site in sizes_of(layout) for size in site]
        self._servers = servers
        self._to_blame: list[str] = []

    def descriptor(self, script: str, failures: str) -> str:
        """Return the descriptor that runs a script on these hosts."""
        mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
        python = quoteattr(sys.executable)
        sites = "".join(
            f"<site><cluster>{self._servers[name][1] if name in self._servers else ''}"
            f'<front-end python={python} address="{cluster.address}"/>'
            f'<mpi ranks="{ranks}" command-path={mpiexec}/></cluster></site>'
            for (name, cluster), ranks in zip(self._grid.clusters.items(), self._sizes, strict=True)
        )
        return (
            f'<deployment name="try"><application script={quoteattr(script)} comm-world="grid"'
            f' failures="{failures}"/><grid>{sites}</grid></deployment>'
        )

    def popen(self, command: Sequence[str], env: dict[str, str]) -> Popen:
        """Start the launcher on its host."""
        pipe = subprocess.PIPE
        return self._grid.popen("c0", command, stdout=pipe, stderr=pipe, env=env)

    def do(self, fault: Fault, run: Popen, dice: random.Random) -> None:
        """Let something happen to the network, to a host, or to a connection of ssh."""
        pair = dice.sample(list(self._grid.clusters), 2)
        far = dice.choice(list(self._servers))
        name = fault.name
        self._to_blame = [far]
        if name in _LINES:
            self._grid.wan(_LINES[name])
        elif name.startswith("cut"):
            self._to_blame = pair
            self._grid.cut(*pair, one_way=name == "cut one way")
            if name == "cut for a second":
                time.sleep(1.0)
                self._grid.heal(*pair)
        elif name in _RULES:
            self._to_blame = pair
            self._filter(pair, _RULES[name])
            if name == "reset":
                time.sleep(dice.uniform(0.3, 1.0))
                for host in pair:
                    self._order(host, "iptables -F INPUT")
        elif name == "host gone":
            self._order(far, "for one in $(ls /sys/class/net); do ip link set $one down; done")
        elif name == "host asleep":
            self._sleep(inside([self._grid.holder(far)]), dice)
        elif name == "ssh asleep":
            self._sleep(found_called("ssh", run.pid), dice)
        else:
            self._kill_ssh(run.pid if name == "ssh killed" else self._servers[far][0], dice)

    def _filter(self, pair: Sequence[str], rule: str) -> None:
        for host, peer in (pair, reversed(pair)):
            address = self._grid.clusters[peer].address
            self._order(host, f"iptables -A INPUT -s {address} {rule}")

    def _order(self, host: str, words: str) -> None:
        done = self._grid.run(host, ["sh", "-ec", words], timeout=20)
        assert done.returncode == 0, done.stderr

    def _sleep(self, pids: Iterable[int], dice: random.Random) -> None:
        spared = {self._grid.holder(one) for one in self._grid.clusters}
        pids = [pid for pid in pids if pid not in spared]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if number == signal.SIGSTOP:
                time.sleep(dice.uniform(0.5, 1.5))

    def _kill_ssh(self, top: int, dice: random.Random) -> None:
        self._to_blame = list(self._servers)
        names = ("ssh", "sshd", "sshd-session")
        found = {pid for name in names for pid in found_called(name, top)} - {top}
        if ordered := in_order_of_start(found):
            with suppress(ProcessLookupError):
                os.kill(dice.choice(ordered), signal.SIGKILL)

    def blames(self, told: str) -> bool:
        """Tell whether a cluster is named to which or from which the line is cut."""
        return any(f"site{one.removeprefix('c')}/cluster0" in told for one in self._to_blame)


@contextmanager
def hosts(
    layout: str, folder: Path, program: Path | None = None, **settings: str
) -> Iterator[Hosts]:
    """Yield hosts for the clusters of a layout; who logs in on one has these variables."""
    with ExitStack() as stack:
        lines = Layout((1,) * len(sizes_of(layout)), wan=Line(delay=0.001, rate=_RATE))
        grid = stack.enter_context(EmulatedGrid(lines))
        servers = {}
        for name, cluster in list(grid.clusters.items())[1:]:
            (keys := folder / name).mkdir(parents=True)
            stack.callback(_remove, keys)
            started: list[int] = []

            def popen(
                command: list[str],
                stderr: int,
                text: bool,
                name: str = name,
                started: list[int] = started,
            ) -> subprocess.Popen[str]:
                made = grid.popen(name, command, stderr=stderr)
                started.append(made.pid)
                return made

            sshd = stack.enter_context(
                running_sshd(keys, address=cluster.address, popen=popen, forced={}, **settings)
            )
            servers[name] = started[0], sshd.hop
        stack.callback(grid.clear)
        yield Hosts(program or folder, grid, layout, servers)


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


@contextmanager
def between_hosts(folder: Path, settings: dict[str, str]) -> Iterator[Places]:
    """Give each run hosts of its own."""

    @contextmanager
    def place(layout: str, _: Fault) -> Iterator[Place]:
        with hosts(layout, folder.parent, folder, **settings) as made:
            yield made

    yield place


NETWORK = Kind(
    "network",
    ("1|1", "2|1", "1|2", "1|1|1"),
    (
        Fault("none", is_harmless=True),
        *(Fault(name, is_harmless=True) for name in _LINES),
        *(Fault(name) for name in _RULES),
        Fault("cut for a second", is_harmless=True),
        Fault("cut"),
        Fault("cut one way"),
        Fault("host gone"),
        Fault("host asleep", is_harmless=True),
        Fault("ssh asleep", is_harmless=True),
        Fault("ssh killed"),
        Fault("sshd killed"),
    ),
    between_hosts,
    hits_ranks=False,
)
