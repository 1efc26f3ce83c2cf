"""Broadcast, gather and allreduce over one, two and three clusters (004 7.7 to 7.9; 003 3, 4)."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting
from benchmarks.evaluate.runs import FLAT, OURS, THROUGH, WAYS, grid_of, measured
from benchmarks.mpi_launch import Ours

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
    told = ["collectives", "--only", only, "--seconds", seconds]
    ranks = {f"c{number}": 2 for number in range(4)}
    ways = {OURS: WAYS[OURS], "by rank": Ours(options=("--plans", RANKS_ONLY))}
    with grid_of((2, 2)) as grid:
        for way in setting.order(tuple(ways)):
            for what, size, value in measured(grid, ways[way], ranks, told):
                yield Sample(what, size, way, value)


def _told(setting: Setting, operations: tuple[str, ...]) -> list[str]:
    sizes, seconds = ((8, 128 * KIB), "0.1") if setting.short else (SIZES, "0.2")
    only = ",".join(f"{one}:{size}" for one in operations for size in sizes)
    return ["collectives", "--only", only, "--seconds", seconds]


def over_clusters(setting: Setting) -> Iterator[Sample]:
    """Measure three operations of six ranks over one, two and three sites."""
    told = _told(setting, OPERATIONS)
    with grid_of((1, 1, 1)) as grid:
        for clusters in (2,) if setting.short else RANKS:
            ways = (OURS, FLAT) if clusters == 1 else (OURS, FLAT, THROUGH)
            for way in setting.order(ways):
                for what, size, value in measured(grid, WAYS[way], RANKS[clusters], told):
                    yield Sample(f"{what} over {clusters}", size, way, value)


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


PLANS = ("tuned", "tree", "flat", "chain", "binomial")


def tuned(setting: Setting) -> Iterator[Sample]:
    """Measure broadcasts by our choice of plan, by named plans and flat, on four sites."""
    ranks = {f"c{number}": 2 for number in range(4)}
    with grid_of((1, 1, 1, 1)) as grid:
        for name in setting.order((*PLANS, FLAT)):
            launch = WAYS.get(name, WAYS[OURS])
            if name in PLANS[1:]:
                launch = Ours(options=("--plans", name))
            for what, size, value in measured(grid, launch, ranks, _told(setting, ("bcast",))):
                yield Sample(what, size, name, value)


FIGURES = (
    Figure(
        "collectives", "Collectives of six ranks by the number of clusters",
        ("004 7.7", "004 7.8", "004 7.9"),
        "In one cluster as fast as MPI; over several clusters faster than "
        "flat MPI, which does not know where its ranks are. Broadcasts are faster over three "
        "clusters than over two, gathers over two; allreduce is faster over several than in one.",
        tuple(_claims()), over_clusters, seconds=420,
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
