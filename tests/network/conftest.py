"""Two clusters of an emulated grid, with one rank in each that speaks with the other."""

from __future__ import annotations

import datetime
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from runtime.transport.certificate import CertificateAuthority
from tools.on_grids import ROOT

PROGRAM = "tests.network.exchange_alone"
PATIENCE = 60.0
WANTED = 4
"""How many connections ranks want that have more to send than one takes."""


class Rank:
    """A process that tells, line by line, how its exchange goes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._pipe = process.stdout.fileno()
        self._told = b""
        self.process = process

    def until(self, word: str) -> Any:
        """Return what was told with a word; what was told before is forgotten."""
        deadline = time.monotonic() + PATIENCE
        while True:
            line, end, rest = self._told.partition(b"\n")
            if end:
                self._told = rest
                told = json.loads(line)
                assert told[0] in (word, "ready", "begun", "interrupted", "resumed"), told
                if told[0] == word:
                    return told[1]
                continue
            left = max(0.0, deadline - time.monotonic())
            assert select.select([self._pipe], [], [], left)[0], f"'{word}' was not told"
            came = os.read(self._pipe, 4096)
            assert came, f"it ended before it told '{word}'"
            self._told += came


class Pair:
    """Both ranks, each in a cluster of its own."""

    def __init__(self, grid: EmulatedGrid, folder: Path) -> None:
        self.grid = grid
        self._folder = folder
        self.ranks: list[Rank] = []

    def start(
        self,
        size: int,
        *,
        silence: float = 30.0,
        patience: float = 20.0,
        tls: bool,
        windows: int = 0,
    ) -> None:
        """Start both; each connection may have so many bytes on its way, if that is told."""
        if windows:
            self._bound(windows)
        now = datetime.datetime.now(datetime.UTC)
        authority = CertificateAuthority.create("a test", now)
        addresses = [one.address for one in self.grid.clusters.values()]
        for index, cluster in enumerate(self.grid.clusters):
            certificate = self._folder / f"certificate{index}"
            certificate.write_bytes(authority.member(f"ranks {index}:0", now) if tls else b"")
            told = {
                "index": index,
                "addresses": addresses,
                "size": size,
                "wants": WANTED if windows else 0,
                "silence": silence,
                "patience": patience,
                "certificate": str(certificate),
            }
            command = [sys.executable, "-m", PROGRAM, json.dumps(told)]
            process = self.grid.popen(
                cluster, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=str(ROOT)
            )
            self.ranks.append(Rank(process))
        self.both("ready")
        for rank in self.ranks:
            assert rank.process.stdin is not None
            rank.process.stdin.write("go\n")
            rank.process.stdin.flush()

    def _bound(self, windows: int) -> None:
        for cluster in self.grid.clusters:
            for name in ("tcp_rmem", "tcp_wmem"):
                words = f"echo '4096 {windows} {windows}' > /proc/sys/net/ipv4/{name}"
                assert self.grid.run(cluster, ["sh", "-c", words], timeout=20).returncode == 0

    def both(self, word: str) -> list[Any]:
        """Return what both told with a word."""
        return [rank.until(word) for rank in self.ranks]

    def cut(self) -> None:
        """Lose all that is said, without a word to anybody."""
        self.grid.cut("c0", "c1")

    def heal(self) -> None:
        """Lose nothing any more."""
        self.grid.heal("c0", "c1")

    def kill_connection(self, cluster: str) -> None:
        """Let the kernel of a cluster reset its connections; what that tells may be lost."""
        done = self.grid.run(cluster, ["ss", "--kill", "--tcp", "state", "established"], timeout=20)
        if "not supported" in done.stderr:
            pytest.skip("the kernel cannot reset connections (CONFIG_INET_DIAG_DESTROY)")
        assert done.returncode == 0, done.stderr

    def close(self) -> None:
        for rank in self.ranks:
            for pipe in (rank.process.stdin, rank.process.stdout):
                assert pipe is not None
                pipe.close()
            rank.process.wait(PATIENCE)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Yield two ranks on a slow line, none of which is started yet."""
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.002, rate=200e6))) as grid:
        made = Pair(grid, tmp_path)
        yield made
        grid.clear()
        made.close()
