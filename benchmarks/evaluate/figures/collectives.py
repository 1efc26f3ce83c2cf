"""Broadcast, gather and allreduce over one, two and three clusters (004 7.7 to 7.9; 003 3, 4)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting
from benchmarks.evaluate.runs import FLAT, OURS, THROUGH, TIMEOUT, figures_of, grid_of, measured
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import Ours, output_of, told

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 128 * KIB, MIB)
RANKS = {1: {"c0": 6}, 2: {"c0": 3, "c1": 3}, 3: {"c0": 2, "c1": 2, "c2": 2}}


OPERATIONS = ("bcast", "gather", "allreduce")
WITH_BYTES = ("bcast", "allreduce", "allgather", "alltoall")


RANKS_ONLY = "barrier=4-ary bcast=binomial allreduce=butterfly allgather=rotation alltoall=rotation"


def by_rank(setting: Setting) -> Iterator[Sample]:
    """Measure collectives of eight ranks on two sites of two clusters, by two sets of plans."""
    sizes, seconds = ((8,), "0.1") if setting.short else ((8, 8 * KIB, 128 * KIB), "0.2")
    only = ",".join(
        ["barrier:0", *(f"{one}:{size}" for one in WITH_BYTES for size in sizes)],
    )
    words = ["collectives", "--only", only, "--seconds", seconds]
    ranks = {f"c{number}": 2 for number in range(4)}
    ways = {OURS: Ours(), "by rank": Ours(options=("--plans", RANKS_ONLY))}
    with grid_of((2, 2)) as grid:
        for way in setting.order(tuple(ways)):
            for what, size, value in measured(grid, ways[way], ranks, words):
                yield Sample(what, size, way, value)


def _words(setting: Setting, operations: tuple[str, ...]) -> list[str]:
    sizes, seconds = ((8, 128 * KIB), "0.1") if setting.short else (SIZES, "0.2")
    only = ",".join(f"{one}:{size}" for one in operations for size in sizes)
    return ["collectives", "--only", only, "--seconds", seconds]


def over_clusters(setting: Setting) -> Iterator[Sample]:
    """Measure three operations of six ranks over one, two and three sites."""
    words = _words(setting, OPERATIONS)
    with grid_of((1, 1, 1)) as grid:
        for clusters in (2,) if setting.short else RANKS:
            ways = (OURS, FLAT) if clusters == 1 else (OURS, FLAT, THROUGH)
            for way in setting.order(ways):
                for what, size, value, by in figures_of(setting, grid, way, RANKS[clusters], words):
                    yield Sample(f"{what} over {clusters}", size, way, value, by)


def _claims() -> Iterator[Claim]:
    for one in OPERATIONS:
        several = (f"{one} over 2", f"{one} over 3")
        yield Claim(f"{one}: in 1 cluster ≤ 1.2 × native", OURS, 1.2, FLAT, (f"{one} over 1",))
        yield Claim(f"{one}: over 2 and 3 ≤ 1.0 × flat MPI", OURS, 1.0, FLAT, several)
        yield Claim(f"{one}: direct ≤ 1.0 × through front-ends", OURS, 1.0, THROUGH, several)
    yield Claim("bcast: over 3 ≤ 1.0 × over 2", f"{OURS}@bcast over 3", 1.0, f"{OURS}@bcast over 2")
    yield Claim(
        "gather: over 2 ≤ 1.0 × over 3", f"{OURS}@gather over 2", 1.0, f"{OURS}@gather over 3"
    )
    yield Claim(
        "allreduce: over 3 ≤ 1.0 × in one cluster",
        *(f"{OURS}@allreduce over 3", 1.0, f"{OURS}@allreduce over 1"),
    )


COMPONENTS = "through components"
ELEMENTARY = ("barrier", "bcast", "gather", "allreduce")


def by_components(setting: Setting) -> Iterator[Sample]:
    """Measure collectives of six ranks on three sites, between ranks and through components."""
    sizes, seconds = ((8,), "0.1") if setting.short else (SIZES, "0.2")
    only = ",".join(
        ["barrier:0", *(f"{one}:{size}" for one in ELEMENTARY[1:] for size in sizes)],
    )
    words = ["collectives", "--only", only, "--seconds", seconds]
    ways = {OURS: Ours(), COMPONENTS: Ours(options=("--plans", "components"))}
    with grid_of((1, 1, 1)) as grid:
        for way in setting.order(tuple(ways)):
            for what, size, value in measured(grid, ways[way], RANKS[3], words):
                yield Sample(what, size, way, value)


LATE = ROOT / "benchmarks" / "evaluate" / "programs" / "late.py"


def late(setting: Setting) -> Iterator[Sample]:
    """Measure broadcasts to another site one of whose ranks is late."""
    words = ("5" if setting.short else "15",)
    with grid_of((1, 1)) as grid:
        said = output_of(grid, Ours(), {"c0": 1, "c1": 4}, LATE, words, timeout=TIMEOUT)
        for one in told(said):
            yield Sample("", one["size"], one["what"], median(one["seconds"]))


PLANS = ("tuned", "tree", "flat", "chain", "binomial")


def tuned(setting: Setting) -> Iterator[Sample]:
    """Measure broadcasts by our choice of plan, by named plans and flat, on four sites."""
    ranks = {f"c{number}": 2 for number in range(4)}
    with grid_of((1, 1, 1, 1)) as grid:
        words = _words(setting, ("bcast",))
        for name in setting.order((*PLANS, FLAT)):
            if name == FLAT:
                for what, size, value, by in figures_of(setting, grid, FLAT, ranks, words):
                    yield Sample(what, size, FLAT, value, by)
                continue
            launch = Ours(options=() if name == "tuned" else ("--plans", name))
            for what, size, value in measured(grid, launch, ranks, words):
                yield Sample(what, size, name, value)


FIGURES = (
    Figure(
        "collectives", "Collectives of six ranks by the number of clusters",
        ("004 7.7", "004 7.8", "004 7.9"),
        "In one cluster as fast as MPI; over several clusters faster than "
        "flat MPI, which does not know where its ranks are. Broadcasts are faster over three "
        "clusters than over two, gathers over two; allreduce is faster over several than in one.",
        tuple(_claims()), over_clusters, seconds=420,
        why_not="a line takes 5 ms, a call in a cluster 0.3. Broadcasts wait for one line, over "
        "two clusters and over three. Gathers over two have three ranks' data on one line, over "
        "three two. A small allreduce costs each rank some tenths of a millisecond of Python's "
        "time, and six share two cores. Front-ends add little, see above. Inside a cluster "
        "intervals are wide.",
        remark="Clusters are in sites of their own. 8 bytes of bcast and gather leave flat MPI "
        "with the next call of the sender only: no values.",
    ),
    Figure(
        "plans-by-rank", "Collectives of two sites of four ranks, by our plans and by ranks",
        ("000 5.4 to 5.7, table 5.1", "001 table 1"),
        "algorithms that send by ranks; what each costs is not measured.",
        tuple(
            Claim(f"{one}: ours ≤ 1.0 × by rank", OURS, 1.0, "by rank", (one,))
            for one in ("barrier", *WITH_BYTES)
        ),
        by_rank, seconds=180,
        remark=f"By rank: `--plans '{RANKS_ONLY}'`.",
    ),
    Figure(
        "through-components",
        "Collectives of six ranks on three sites, tensioned and through the components",
        ("004 6.5.2 (text)", "004 7.2.2 (text)"),
        "in the basic configuration clustering components receive all data of a collective, merge "
        "or reduce them, and send the result down; tensioning avoids that. Both are not compared.",
        tuple(
            Claim(f"{one}: tensioned ≤ 1.0 × through components", OURS, 1.0, COMPONENTS, (one,))
            for one in ELEMENTARY
        ),
        by_components, seconds=300,
        why_not="measured when the stand-in for ssh had no delay: a few bytes through the launcher "
        "took less than a line, which they cross twice on a real grid.",
        remark="Through components: `--plans components`. What goes between two front-ends passes "
        "the launcher by ssh.",
    ),
    Figure(
        "late-ranks", "Broadcasts to four ranks of another site, one of which is 50 ms late",
        ("003 5",),
        "trees are re-ordered: a rank that is not ready gets its data later, and others in its "
        "place pass them on; no figure is measured.",
        (
            Claim("a late leaf delays others ≤ 1.2 × none", "a leaf is late", 1.2,
                  "nobody is late"),
            Claim("a late gateway delays others ≤ 1.2 × none", "the gateway is late", 1.2,
                  "nobody is late"),
            Claim("if all tell first that they are ready: ≤ 1.2 × without",
                  "readiness is told first", 1.2, "nobody is late"),
        ),
        late, seconds=120,
        why_not="the gateway alone receives for its site. Telling costs a line, as the data do.",
        remark="The time until the others have the data. Trees are not re-ordered here: between "
        "sites, telling who is ready costs what the last row says.",
    ),
    Figure(
        "tuned-broadcast", "Broadcasts tuned and untuned, four sites of two ranks",
        ("003 3", "003 4"),
        "tuned broadcasts are as fast as those of the vendor or faster.",
        (
            Claim("our choice ≤ 1.05 × the flat plan", "tuned", 1.05, "flat"),
            Claim("our choice ≤ 1.05 × the chain", "tuned", 1.05, "chain"),
            Claim("our choice ≤ 1.0 × flat MPI", "tuned", 1.0, FLAT),
        ),
        tuned, seconds=300, is_long=True,
        remark="Plans are chosen by name with `--plans`. "
        "They are not measured on the machine at hand beforehand.",
    ),
)  # fmt: skip
