"""Measures one way to talk: in two clusters of an emulated grid, or on the loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from benchmarks.echoes.members import CERTIFICATE_FILE, write_certificate
from benchmarks.grid import EmulatedGrid
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import Figures, RunFailed, told

PORT = 5700
LOOPBACK = "127.0.0.1"
ENCRYPTED = ("tls", "ssl")

Key = TypeVar("Key", bound=Hashable)


def one_way(
    grid: EmulatedGrid | None,
    pair: tuple[str, str],
    sizes: Iterable[int],
    *,
    seconds: float,
    timeout: float,
    way: str = "tcp",
) -> dict[int, float]:
    """Return the median seconds that each size takes from one cluster to the other.

    Without a grid both ends are on this machine. Raises `RunFailed`, with what was found by then.
    """
    host = grid.clusters[pair[1]].address if grid else LOOPBACK
    words = [way, host, str(PORT if grid else free_port())]
    wanted = [",".join(str(size) for size in sorted(set(sizes))), str(seconds)]
    with ExitStack() as stack:
        environment = dict(os.environ)
        if way in ENCRYPTED:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gcm-bench-"))
            environment[CERTIFICATE_FILE] = f"{folder}/certificate.pem"
            write_certificate(Path(environment[CERTIFICATE_FILE]))
        server = stack.enter_context(_start(grid, pair[1], ["serve", *words], environment))
        stack.callback(server.kill)
        assert server.stdout is not None
        if not server.stdout.readline():
            raise RunFailed(f"'{way}' does not listen", [])
        client = stack.enter_context(
            _start(grid, pair[0], ["measure", *words, *wanted], environment)
        )
        stack.callback(client.kill)
        try:
            output, said = client.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            output = error.output.decode(errors="replace") if error.output else ""
            raise RunFailed(f"no end within {timeout:.0f} s", told(output)) from None
    if client.returncode:
        raise RunFailed(said.strip()[-300:], told(output))
    return medians(told(output))


def medians(figures: Figures) -> dict[int, float]:
    """Return the median seconds of each size."""
    return {one["size"]: median(one["seconds"]) for one in figures}


def free_port() -> int:
    """Return a port of this machine, where others may measure too; front-ends take the next two."""
    with socket.create_server((LOOPBACK, 0)) as free:
        port: int = free.getsockname()[1]
    return port


def keep_best(kept: dict[Key, float], found: Mapping[Key, float]) -> None:
    """Keep the smaller one of each figure: what disturbs a machine makes nothing faster."""
    for key, value in found.items():
        kept[key] = min(value, kept.get(key, value))


def _start(
    grid: EmulatedGrid | None, cluster: str, words: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.echoes", *words]
    stderr = subprocess.DEVNULL if words[0] == "serve" else subprocess.PIPE
    told: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": stderr, "env": environment}
    if grid:
        return grid.popen(cluster, command, cwd=str(ROOT), **told)
    return subprocess.Popen(command, text=True, cwd=ROOT, **told)
