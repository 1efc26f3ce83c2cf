"""Hosts with networks between them, reached by a real sshd each, and what befalls them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from xml.sax.saxutils import quoteattr

from benchmarks.grid import EmulatedGrid, Layout, Line
from runtime.launchers.family import descendants, processes
from runtime.testing.sshd import running_sshd
from tools.on_grids import sizes_of

LAYOUTS = ("1|1", "2|1", "1|2", "1|1|1")
HARMLESS = ("cut for a second", "delayed by 500 ms")
FAULTS = (*HARMLESS, "cut", "cut one way", "host gone", "ssh killed", "sshd killed")

_RATE = 400e6


class Hosts:
    """One host for each cluster, a site each; the launcher and the first cluster share one."""

    def __init__(
        self, grid: EmulatedGrid, layout: str, servers: dict[str, tuple[int, str]]
    ) -> None:
        self._grid = grid
        self._sizes = [size for site in sizes_of(layout) for size in site]
        self._servers = servers

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

    def popen(self, command: Sequence[str], env: dict[str, str]) -> subprocess.Popen[str]:
        """Start the launcher on its host."""
        pipe = subprocess.PIPE
        return self._grid.popen("c0", command, stdout=pipe, stderr=pipe, env=env)

    def do(self, fault: str, run: subprocess.Popen[str], dice: random.Random) -> None:
        """Let something happen to the network, or to a connection of ssh."""
        one, other = dice.sample(list(self._grid.clusters), 2)
        far = dice.choice(list(self._servers))
        if fault == "delayed by 500 ms":
            self._grid.wan(Line(delay=0.5, rate=_RATE))
        elif fault.startswith("cut"):
            self._grid.cut(one, other, one_way=fault == "cut one way")
            if fault == "cut for a second":
                time.sleep(1.0)
                self._grid.heal(one, other)
        elif fault == "host gone":
            words = "for one in $(ls /sys/class/net); do ip link set $one down; done"
            self._grid.run(far, ["sh", "-c", words], timeout=20)
        else:
            client = fault == "ssh killed"
            top = run.pid if client else self._servers[far][0]
            found = sorted(
                pid
                for pid in descendants({top}, processes())
                if _name(pid) in (("ssh",) if client else ("sshd", "sshd-session"))
            )
            if found:
                with suppress(ProcessLookupError):
                    os.kill(dice.choice(found), signal.SIGKILL)


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


@contextmanager
def hosts(layout: str, folder: Path, **settings: str) -> Iterator[Hosts]:
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
                running_sshd(keys, address=cluster.address, popen=popen, **settings)
            )
            servers[name] = started[0], sshd.hop
        stack.callback(grid.clear)
        yield Hosts(grid, layout, servers)


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
