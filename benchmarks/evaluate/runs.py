"""Runs programs on grids for figures: an emulated grid, several ways in turns, the seconds said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median

from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import Launch, Mpich, Ours, RunFailed, output_of, run

EXAMPLES = ROOT / "examples"
FAR = Line(delay=0.005, rate=1e9)
TIMEOUT = 120.0

OURS, FLAT, THROUGH = "ours", "flat MPI", "through front-ends"

WAYS: Mapping[str, Launch] = {
    OURS: Ours(),
    FLAT: Mpich("ofi"),
    THROUGH: Ours(name=THROUGH, reachability="front-end"),
    "TLS": Ours(name="TLS", encryption="tls"),
}
"""Tensioned (the shortest routes that there are), flat native MPI, and through the hierarchy."""

_SECONDS = re.compile(r"; (\d+\.\d+) s$", re.MULTILINE)


@contextmanager
def grid_of(sites: Sequence[int], wan: Line = FAR) -> Iterator[EmulatedGrid]:
    """Make an emulated grid with so many clusters in each site."""
    with EmulatedGrid(Layout(tuple(sites), wan=wan)) as grid:
        yield grid


def seconds_said(said: str) -> float:
    """Return the seconds that a program says it took, without its start.

    >>> seconds_said("IS class S: verified; 0.5000 s")
    0.5
    """
    found = _SECONDS.findall(said)
    if not found:
        raise RunFailed(f"no seconds in {said!r}", [])
    return float(found[-1])


def program(
    grid: EmulatedGrid, launch: Launch, ranks: Mapping[str, int], script: str, *words: str
) -> float:
    """Run an example; return the seconds that it says it took. It fails unless it is verified."""
    said = output_of(grid, launch, ranks, EXAMPLES / script, words, timeout=TIMEOUT)
    return seconds_said(said)


def measured(
    grid: EmulatedGrid, launch: Launch, ranks: Mapping[str, int], arguments: Sequence[str]
) -> Iterator[tuple[str, int, float]]:
    """Run the measured program; yield of each of its figures what, which size, and the median."""
    for one in run(grid, launch, ranks, arguments, timeout=TIMEOUT):
        if one["seconds"]:
            yield one["what"], int(one["size"]), median(one["seconds"])
