"""Two sites behind real packet filters that let in nothing but ssh from the launcher's host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, Line
from runtime.testing.sshd import Sshd, running_sshd
from tests.network.walls import Walls
from tools.on_grids import COMMAND, ROOT

LAUNCHER = "c0"
SITES = ("c1", "c2")


class IsolatedSites:
    """The launcher's host and both sites, with an sshd each."""

    def __init__(self, grid: EmulatedGrid, folder: Path, servers: dict[str, Sshd]) -> None:
        self.grid = grid
        self.folder = folder
        self.servers = servers

    @classmethod
    @contextmanager
    def started(cls, folder: Path, lan: Line) -> Iterator[IsolatedSites]:
        """Start a grid of three hosts, with filters and servers."""
        with EmulatedGrid(Layout((1, 1, 1), wan=lan)) as grid, ExitStack() as stack:
            walls, servers = Walls(grid), {}
            for site in SITES:
                own = folder / site
                own.mkdir()
                address = grid.clusters[site].address
                popen = partial(_popen, grid, site)
                servers[site] = stack.enter_context(running_sshd(own, address=address, popen=popen))
                walls.isolate(site, servers[site].port, LAUNCHER)
            try:
                yield cls(grid, folder, servers)
            finally:
                grid.clear()

    def descriptor(self, program: str, ranks: int, reachability: str = "isolated") -> Path:
        """Write a program and the descriptor that runs it at both sites."""
        (self.folder / "program.py").write_text(program)
        mpiexec = Path(sys.executable).with_name("mpiexec")
        sites = "".join(
            f'<site name="{site}"><cluster reachability="{reachability}">{server.hop}'
            f'<front-end python="{sys.executable}"/>'
            f'<mpi ranks="{ranks}" command-path="{mpiexec}"/></cluster></site>'
            for site, server in self.servers.items()
        )
        path = self.folder / "sites.xml"
        path.write_text(
            f'<deployment name="t"><application script="program.py"/><grid>{sites}</grid>'
            "</deployment>"
        )
        return path

    def run(self, *words: str, timeout: float) -> tuple[int, str, str]:
        """Run `gcm-deploy` on the launcher's host."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SSH_AUTH_SOCK": ""}
        words = (*COMMAND, *words)
        done = self.grid.run(
            LAUNCHER, words, timeout=timeout, cwd=str(self.folder), env=environment
        )
        return done.returncode, done.stdout, done.stderr


def _popen(
    grid: EmulatedGrid, host: str, argv: Sequence[str], *, stderr: int, text: bool
) -> subprocess.Popen[str]:
    assert text
    return grid.popen(host, argv, stderr=stderr)
