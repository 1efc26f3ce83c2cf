"""Point to point in a cluster, between clusters and between sites (004 7.1 to 7.6)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.evaluate.figure import Claim, Figure, Measure, Sample, Setting
from benchmarks.evaluate.runs import FLAT, OURS, THROUGH, TIMEOUT, figures_of, grid_of
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import Ours, output_of, told

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, KIB, 64 * KIB, MIB, 4 * MIB)
SHORT = (8, 64 * KIB)
CASES = {"pingpong": "Send/Recv", "immediate": "Isend/Irecv"}


def _told(setting: Setting) -> list[str]:
    sizes, seconds = (SHORT, "0.1") if setting.short else (SIZES, "0.25")
    return ["pingpong", "--sizes", ",".join(map(str, sizes)), "--seconds", seconds]


def inside(setting: Setting) -> Iterator[Sample]:
    """Measure two ranks of a cluster: of a grid that has another one, and under plain `mpiexec`."""
    told = ["neighbours", *_told(setting)[1:], "--immediate"]
    with grid_of((1, 1)) as grid:
        for way in setting.order((OURS, FLAT)):
            ranks = {"c0": 2, "c1": 1} if way == OURS else {"c0": 2}
            for what, size, value, by in figures_of(setting, grid, way, ranks, told):
                yield Sample(CASES[what], size, way, value, by)


def between(sites: tuple[int, ...]) -> Measure:
    """Return what measures two ranks in the first two clusters of such a grid."""

    def measure(setting: Setting) -> Iterator[Sample]:
        with grid_of(sites) as grid:
            told = [*_told(setting), "--immediate"]
            for way in setting.order((OURS, FLAT, THROUGH)):
                for what, size, value, by in figures_of(
                    setting, grid, way, {"c0": 1, "c1": 1}, told
                ):
                    yield Sample(CASES[what], size, way, value, by)

    return measure


UNCACHED = '<controller role="reference-cache" class="runtime.routing.cache.Uncached"/>'
ALTERNATING = ROOT / "benchmarks" / "evaluate" / "programs" / "alternating.py"


def cache(setting: Setting) -> Iterator[Sample]:
    """Measure messages to two peers in turns, with the reference cache and without."""
    ways = {"with the cache": Ours(), "without": Ours(elements=UNCACHED)}
    ranks = {"c0": 1, "c1": 1, "c2": 1}
    words = ("0.1" if setting.short else "0.4",)
    with grid_of((1, 1, 1)) as grid:
        for way in setting.order(tuple(ways)):
            for one in told(output_of(grid, ways[way], ranks, ALTERNATING, words, timeout=TIMEOUT)):
                yield Sample("in turns", one["size"], way, median(one["seconds"]))


SOURCE = (
    "Inside a cluster the overhead is negligible; between clusters and "
    "sites, direct (tensioned) messages are slightly slower than pure MPI, and what goes through "
    "components is remarkably slower, with a peak near 4 MB."
)

FIGURES = (
    Figure(
        "point-to-point-inside",
        "Point to point inside a cluster",
        ("004 7.1", "004 7.2"),
        SOURCE,
        (Claim("a message over COMM_WORLD takes ≤ 1.2 × native", OURS, 1.2, FLAT),),
        inside,
        unit="µs", factor=1e6, seconds=120,
        remark="Native is mpi4py under plain `mpiexec`, where this package is not installed: two "
        "ranks of one cluster. Ours has a rank in another cluster besides, which waits.",
        why_not="inside a cluster ours is MPICH, against which Send/Recv of 8 bytes takes 0.86 "
        "times as long; Open MPI's shared memory takes half of that. A request of COMM_WORLD is an "
        "object of Python beside the native one, and Waitall looks at each.",
    ),
    Figure(
        "point-to-point-near",
        "Point to point between two clusters of a site",
        ("004 7.3", "004 7.4"),
        SOURCE,
        (
            Claim("direct messages take ≤ 1.5 × flat MPI", OURS, 1.5, FLAT),
            Claim("direct messages take ≤ 0.9 × through front-ends", OURS, 0.9, THROUGH),
        ),
        between((2,)),
        unit="µs", factor=1e6,
        why_not="of two messages of 8 bytes at once each wakes a thread of Python, 60 to 70 µs of "
        "a processor at each end, and those threads share two cores; MPICH spins instead.",
    ),
    Figure(
        "point-to-point-far",
        "Point to point between two sites",
        ("004 7.5", "004 7.6"),
        SOURCE,
        (
            Claim("direct messages take ≤ 1.05 × flat MPI", OURS, 1.05, FLAT),
            Claim("direct messages take ≤ 0.95 × through front-ends", OURS, 0.95, THROUGH),
        ),
        between((1, 1)),
        seconds=300,
        why_not="front-ends pass data on in 0.1 to 0.3 ms beside a line of 5: leaving that out "
        "cannot gain 5 %. Of two messages at once some wait for a line and some for two, in all "
        "ways, so that intervals are wide.",
    ),
    Figure(
        "reference-cache",
        "Messages to two peers in turns, with the reference cache and without",
        ("004 6.6 (a claim of the text)",),
        "references to components that were looked up are kept; no figure is measured.",
        (Claim("with the cache ≤ 0.8 × without", "with the cache", 0.8, "without"),),
        cache,
        seconds=200,
        remark="Without it, each message to another peer than the last one opens a connection: "
        "`runtime.routing.cache.Uncached`. Three sites.",
    ),
)  # fmt: skip
