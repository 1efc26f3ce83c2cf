"""Measures each table: makes its grid, runs the program in each way there is, and the floor."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from benchmarks.grid import EmulatedGrid, Layout
from benchmarks.mpi_floor import crossings, floor
from benchmarks.mpi_goals import SMALL
from benchmarks.mpi_launch import Figures, Launch, Mpich, Ours, RunFailed, run
from benchmarks.mpi_rows import Found, Row
from benchmarks.mpi_scenarios import KIB, MIB, Scenario
from benchmarks.wire_measure import keep_best, one_way

PING_SIZES = (1, 64, KIB, 8 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 64 * MIB)
INSIDE_SIZES = (1, KIB, 64 * KIB, MIB)
RANKS_PER_CLUSTER = (1, 2, 4, 8, 16)

FORWARDED = Ours(name="ours, two front-ends", reachability="front-end")

Case = tuple[str, int]


@dataclass
class Columns:
    """The medians and the 95th percentiles of each way to run it, and why there are none."""

    found: dict[str, dict[Case, float]] = field(default_factory=dict)
    tails: dict[str, dict[Case, float]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def measure(
        self,
        grid: EmulatedGrid,
        launch: Launch,
        ranks: Mapping[str, int],
        arguments: Sequence[str],
        timeout: float,
    ) -> Figures:
        """Run the program in one way, note the best medians, and return all figures."""
        if launch.name in self.faults:
            return []  # it would take all of its time again
        try:
            figures = run(grid, launch, ranks, arguments, timeout=timeout)
        except RunFailed as failure:
            self.faults[launch.name] = str(failure)
            figures = failure.figures
        for kept, figure in ((self.found, median), (self.tails, tail)):
            best = {
                (one["what"], one["size"]): figure(one["seconds"])
                for one in figures
                if one["seconds"]
            }
            keep_best(kept.setdefault(launch.name, {}), best)
        return figures

    def of(self, case: Case) -> dict[str, float]:
        """Return the seconds of a case by column."""
        return {name: medians[case] for name, medians in self.found.items() if case in medians}

    def tails_of(self, case: Case) -> dict[str, float]:
        """Return the 95th percentiles of a case by column."""
        return {name: tails[case] for name, tails in self.tails.items() if case in tails}


def tail(seconds: Sequence[float]) -> float:
    """Return what 95 of 100 did not exceed.

    >>> tail([float(number) for number in range(1, 101)])
    96.0
    """
    return sorted(seconds)[int(0.95 * len(seconds))]


def collectives(options: argparse.Namespace, ways: Sequence[Launch], scenario: Scenario) -> Found:
    """Measure collectives on one grid."""
    cases = [case for case in scenario.cases if _is_wanted(case, options.only)]
    columns = Columns()
    told = ["collectives", "--seconds", str(options.seconds)]
    told += ["--only", ",".join(f"{name}:{size}" for name, size in cases)]
    told += ["--cyclic"] if scenario.cyclic else []
    with EmulatedGrid(scenario.layout) as grid:
        crossing = _Crossings(grid, scenario, cases, options)
        for launch in [*ways] * options.turns:
            columns.measure(grid, launch, scenario.by_cluster, told, options.timeout)
        late = grid.statistics().late
    rows = [
        Row(*case, floor(*case, scenario.places, crossing.time), columns.of(case)) for case in cases
    ]
    return Found(scenario.name, scenario.title, rows, scenario.has_goals, columns.faults, late)


def _is_wanted(case: Case, only: str) -> bool:
    return not only or "{}:{}".format(*case) in only.split(",")


class _Crossings:
    """How long plain TCP takes for what has to cross between two places; equal lines once."""

    def __init__(
        self,
        grid: EmulatedGrid,
        scenario: Scenario,
        cases: Sequence[Case],
        options: argparse.Namespace,
    ) -> None:
        self._scenario = scenario
        needed: dict[tuple[int, int], set[int]] = {}
        for case in cases:
            for pair, count in crossings(*case, scenario.places).items():
                needed.setdefault(pair, set()).add(count)
        by_line: dict[object, tuple[tuple[int, int], set[int]]] = {}
        for pair, sizes in needed.items():
            by_line.setdefault(scenario.line(*pair), (pair, set()))[1].update(sizes)
        self._times = {
            line: one_way(
                grid,
                (scenario.cluster_of(pair[0]), scenario.cluster_of(pair[1])),
                sizes,
                seconds=options.seconds,
                timeout=options.timeout,
            )
            for line, (pair, sizes) in by_line.items()
        }

    def time(self, one: int, other: int, count: int) -> float:
        return self._times[self._scenario.line(one, other)][count]


def pingpong(options: argparse.Namespace, ways: Sequence[Launch], *, is_far: bool) -> Found:
    """Measure one way between two ranks, in two sites or in two clusters of one.

    Where ours is measured it is so once more through the front-ends of both clusters.
    """
    columns = Columns()
    if any(isinstance(one, Ours) for one in ways):
        ways = [*ways, FORWARDED]
    sizes = ",".join(map(str, PING_SIZES))
    told = ["pingpong", "--sizes", sizes, "--seconds", str(options.seconds)]
    with EmulatedGrid(Layout((1, 1) if is_far else (2,))) as grid:
        names = tuple(grid.clusters)
        raw = one_way(
            grid,
            (names[0], names[1]),
            PING_SIZES,
            seconds=options.seconds,
            timeout=options.timeout,
        )
        for launch in [*ways] * options.turns:
            columns.measure(grid, launch, dict.fromkeys(names, 1), told, options.timeout)
        late = grid.statistics().late
    rows = [Row("one way", size, raw[size], columns.of(("pingpong", size))) for size in PING_SIZES]
    where = "two sites, 5 ms and 1 Gbit/s" if is_far else "two clusters of one site"
    name = "pingpong" if is_far else "lan"
    tails = [
        Row("one way", size, None, columns.tails_of(("pingpong", size)))
        for size in PING_SIZES
        if size <= SMALL
    ]
    title = f"Point to point between {where}"
    return Found(name, title, rows, False, columns.faults, late, tails)


def inside(options: argparse.Namespace, ways: Sequence[Launch]) -> Found:
    """Measure two ranks of a cluster: of a grid that has another one, and of plain MPI."""
    columns, sizes = Columns(), ",".join(map(str, INSIDE_SIZES))
    told = ["neighbours", "--sizes", sizes, "--seconds", str(options.seconds)]
    with EmulatedGrid(Layout((1, 1))) as grid:
        for launch in [*ways] * options.turns:
            ranks = {"c0": 2, "c1": 1} if isinstance(launch, Ours) else {"c0": 2}
            columns.measure(grid, launch, ranks, told, options.timeout)
    rows = [Row("one way", size, None, columns.of(("pingpong", size))) for size in INSIDE_SIZES]
    title = "Point to point inside a cluster: COMM_WORLD of a grid, and plain MPI"
    return Found("inside", title, rows, False, columns.faults)


def windows(options: argparse.Namespace, ways: Sequence[Launch]) -> Found:
    """Measure one-sided calls beside messages between two sites; native MPIs where they can."""
    columns = Columns()
    with EmulatedGrid(Layout((1, 1))) as grid:
        for launch in [*ways] * options.turns:
            columns.measure(
                grid, launch, dict.fromkeys(grid.clusters, 1), ["windows"], options.timeout
            )
    cases = list(dict.fromkeys(case for found in columns.found.values() for case in found))
    rows = [Row(what, size, None, columns.of((what, size))) for what, size in cases]
    title = "One-sided calls between two sites, 5 ms and 1 Gbit/s"
    return Found("windows", title, rows, False, columns.faults)


def ranks(options: argparse.Namespace, ways: Sequence[Launch]) -> Found:
    """Measure what each rank costs, from 4 to 64 ranks on 2 x 2 clusters; flat MPICH beside."""
    columns, rows = Columns(), []
    wanted: list[Launch] = [one for one in ways if isinstance(one, Ours)]
    wanted += [one for one in ways if isinstance(one, Mpich)][:1]
    with EmulatedGrid(Layout((2, 2))) as grid:
        for count in RANKS_PER_CLUSTER:
            started, memory = {}, {}
            for launch in wanted:
                begun = time.time()
                held = dict.fromkeys(grid.clusters, count)
                figures = columns.measure(grid, launch, held, ["footprint"], options.timeout)
                for one in figures:
                    if one["what"] == "started":
                        started[launch.name] = one["seconds"][0] - begun
                    else:
                        memory[launch.name] = fmean(one["seconds"])
            rows.append(Row(f"start of {4 * count} ranks", 0, None, started))
            rows.append(Row(f"memory per rank of {4 * count}", 0, None, memory, "B"))
    return Found("ranks", "What ranks cost", rows, False, columns.faults)
