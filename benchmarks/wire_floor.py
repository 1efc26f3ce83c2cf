"""Measures plain TCP between two clusters of an emulated grid: the floor of everything else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from benchmarks.grid import EmulatedGrid
from benchmarks.mpi_launch import told

RAW_PROGRAM = Path(__file__).with_name("wire_raw.py")
PORT = 5700


def one_way(
    grid: EmulatedGrid,
    pair: tuple[str, str],
    sizes: Iterable[int],
    *,
    seconds: float,
    timeout: float,
) -> dict[int, float]:
    """Return the median seconds that each size takes from one cluster to the other."""
    source, target = pair
    address = grid.clusters[target].address
    server = [sys.executable, str(RAW_PROGRAM), "serve", address, str(PORT)]
    wanted = ",".join(str(size) for size in sorted(set(sizes)))
    client = [sys.executable, str(RAW_PROGRAM), "measure", address, str(PORT), wanted, str(seconds)]
    with grid.popen(target, server, stdout=subprocess.PIPE) as serving:
        try:
            assert serving.stdout is not None
            serving.stdout.readline()
            done = grid.run(source, client, timeout=timeout)
        finally:
            serving.kill()
    if done.returncode:
        raise RuntimeError(f"plain TCP from {source} to {target} failed: {done.stderr[-500:]}")
    return {one["size"]: median(one["seconds"]) for one in told(done.stdout)}
