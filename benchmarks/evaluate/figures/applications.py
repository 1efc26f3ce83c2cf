"""Monte Carlo, mergesort and Poisson in three dimensions (004 7.15 to 7.20), and the ray tracer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting, untestable
from benchmarks.evaluate.runs import FLAT, OURS, grid_of, seconds_of

DARTS, SORT, POISSON = "20_monte_carlo", "21_mergesort", "23_poisson/poisson.py"
RAYS = "25_ray_tracer/ray_tracer.py"

Runs = Mapping[str, tuple[str, Mapping[str, int], str, tuple[str, ...]]]
"""Of each way: how it is launched, the ranks of its clusters, the program and its arguments."""


def _evenly(ranks: int, clusters: int) -> dict[str, int]:
    return {f"c{number}": ranks // clusters for number in range(clusters)}


def _runs(setting: Setting, runs: Runs, at: int, case: str = "") -> Iterator[Sample]:
    """Run all ways in turns on two sites of two clusters."""
    with grid_of((2, 2)) as grid:
        for way in setting.order(tuple(runs)):
            launch, ranks, script, words = runs[way]
            for seconds, by in seconds_of(setting, grid, launch, ranks, script, *words):
                yield Sample(case, at, way, seconds, by)


def monte_carlo(setting: Setting) -> Iterator[Sample]:
    """Throw darts by two and four ranks, in one, two and four clusters."""
    darts = "4e6" if setting.short else "1e8"
    flat, levels = f"{DARTS}/flat.py", f"{DARTS}/hierarchical.py"
    for ranks in (2,) if setting.short else (2, 4):
        runs: Runs = {
            "flat MPI, 1 cluster": (FLAT, _evenly(ranks, 1), flat, (darts,)),
            "flat, 2 clusters": (OURS, _evenly(ranks, 2), flat, (darts,)),
        }
        if ranks == 4:
            runs = {
                **runs,
                "flat, 4 clusters": (OURS, _evenly(ranks, 4), flat, (darts,)),
                "hierarchical, 4 clusters": (OURS, _evenly(ranks, 4), levels, (darts,)),
            }
        yield from _runs(setting, runs, ranks)


def mergesort(setting: Setting) -> Iterator[Sample]:
    """Sort numbers of 64 bits by four and eight ranks in two sites of two clusters."""
    count = "1e5" if setting.short else "1e6"
    for ranks in (4,) if setting.short else (4, 8):
        flat, levels = f"{SORT}/flat.py", f"{SORT}/hierarchical.py"
        runs: Runs = {
            "flat MPI, 1 cluster": (FLAT, _evenly(ranks, 1), flat, (count,)),
            "flat MPI, 4 clusters": (FLAT, _evenly(ranks, 4), flat, (count,)),
            "flat": (OURS, _evenly(ranks, 4), flat, (count,)),
            "one level": (OURS, _evenly(ranks, 4), levels, (count, "1")),
            "three levels": (OURS, _evenly(ranks, 4), levels, (count, "3")),
        }
        yield from _runs(setting, runs, ranks)


def poisson(setting: Setting) -> Iterator[Sample]:
    """Solve by eight ranks in two sites of two clusters: partitions and mappings."""
    size = ("--cells", "24", "--steps", "10") if setting.short else ("--cells", "64")
    dealt, blocks = ("--mapping", "dealt"), ("--partition", "blocks")
    ranks = _evenly(8, 4)
    runs: Runs = {
        "flat MPI, dealt": (FLAT, ranks, POISSON, (*size, *dealt)),
        "flat MPI, by host": (FLAT, ranks, POISSON, size),
        "ours, slices by topology": (OURS, ranks, POISSON, size),
        "ours, slices dealt": (OURS, ranks, POISSON, (*size, *dealt)),
        "ours, blocks by topology": (OURS, ranks, POISSON, (*size, *blocks)),
        "ours, blocks dealt": (OURS, ranks, POISSON, (*size, *dealt, *blocks)),
    }
    yield from _runs(setting, runs, 8)


def ray_tracer(setting: Setting) -> Iterator[Sample]:
    """Trace the picture by four ranks, in one site and in two."""
    runs: Runs = {
        "one site": (OURS, {"c0": 2, "c1": 2}, RAYS, ()),
        "two sites": (OURS, {"c0": 2, "c2": 2}, RAYS, ()),
    }
    yield from _runs(setting, runs, 4)


SPEEDUP = "all ranks share two cores"

FIGURES = (
    Figure(
        "monte-carlo", "Pi by throwing 10⁸ darts", ("004 7.15", "004 7.16"),
        "for 10⁸ darts: all curves are close to each other and to MPI in "
        "one cluster, and the speedup is that of MPI.",
        (
            Claim("flat over 2 clusters ≤ 1.1 × MPI in one", "flat, 2 clusters", 1.1,
                  "flat MPI, 1 cluster"),
            Claim("flat over 4 clusters ≤ 1.1 × MPI in one", "flat, 4 clusters", 1.1,
                  "flat MPI, 1 cluster"),
            Claim("hierarchical ≤ 1.1 × flat over 4 clusters", "hierarchical, 4 clusters", 1.1,
                  "flat, 4 clusters"),
            untestable("the speedup with ranks is that of MPI", SPEEDUP),
        ),
        monte_carlo, across="ranks", seconds=240,
        why_not="four ranks share two cores; with two each has one.",
    ),
    Figure(
        "mergesort", "Mergesort of 10⁶ numbers of 64 bits", ("004 7.17", "004 7.18", "004 7.19"),
        "10⁷ numbers over sites and clusters: flat takes up to 8 times as long as MPI in one "
        "cluster, hierarchical up to 2.5 times; flat improves up to 32 nodes, hierarchical up to "
        "128; with few nodes flat is faster.",
        (
            Claim("flat over sites ≤ 8 × MPI in one cluster", "flat", 8.0, "flat MPI, 1 cluster"),
            Claim("three levels ≤ 2.5 × MPI in one cluster", "three levels", 2.5,
                  "flat MPI, 1 cluster"),
            Claim("with few ranks three levels take more than flat", "three levels", 1.0, "flat",
                  above=True),
            Claim("three levels ≤ 1.0 × flat MPI over the same clusters", "three levels", 1.0,
                  "flat MPI, 4 clusters"),
            untestable("flat gains up to 32 nodes, three levels up to 128", SPEEDUP),
        ),
        mergesort, across="ranks", seconds=240,
        why_not="the third level moves data once more, and has no processors of its own.",
        remark="Two cores sort for all ranks, so that merging in parallel gains nothing.",
    ),
    Figure(
        "poisson", "Poisson in a cube of 64³ cells, 100 steps, 8 ranks", ("004 7.20", "004 7.14"),
        "1024³ cells, 100 steps: flat MPI is faster than the flat program "
        "over components, the hierarchical one is the fastest; slices are better than blocks.",
        (
            Claim("by topology ≤ 1.0 × dealt, slices", "ours, slices by topology", 1.0,
                  "ours, slices dealt"),
            Claim("by topology ≤ 1.0 × flat MPI dealt", "ours, slices by topology", 1.0,
                  "flat MPI, dealt"),
            Claim("slices ≤ 1.0 × blocks, by topology", "ours, slices by topology", 1.0,
                  "ours, blocks by topology"),
            Claim("flat MPI ≤ 1.0 × ours, both dealt", "flat MPI, dealt", 1.0,
                  "ours, slices dealt"),
        ),
        poisson, across="ranks", seconds=240,
        why_not="ours is the faster one, also where ranks are dealt.",
    ),
    Figure(
        "ray-tracer", "The ray tracer on one site and on two, 150² pixels, 4 ranks", ("000 5.9",),
        "2500² pixels: scales to 64 processors, and two sites are sometimes as fast as the "
        "slowest run on one.",
        (
            Claim("two sites ≤ 1.1 × one site", "two sites", 1.1, "one site"),
            untestable("it scales up to 64 processors", SPEEDUP),
        ),
        ray_tracer, across="ranks", seconds=240, is_long=True,
    ),
)  # fmt: skip
