"""EP and IS of the NAS benchmarks, by strategy and against flat MPI; kernels of the JGF."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting
from benchmarks.evaluate.runs import (
    EXAMPLES,
    FLAT,
    OURS,
    THROUGH,
    TIMEOUT,
    grid_of,
    seconds_of,
)
from benchmarks.mpi_launch import Ours, output_of

CONCENTRATED, SPREAD = {"c0": 4}, {"c0": 1, "c1": 1, "c2": 1, "c3": 1}
"""Four ranks in the nearest cluster; or one in each cluster of two sites."""

GRANDE = {
    "26_java_grande/kernels.py": ("series", "sparse", "lufact", "crypt", "sor"),
    "26_java_grande/applications.py": ("moldyn", "montecarlo"),
}


def npb(setting: Setting) -> Iterator[Sample]:
    """Run EP and IS in the nearest cluster, spread over two sites, and by flat MPI."""
    cases = {"EP S": ("24_npb/ep.py", "S"), "IS S": ("24_npb/integer_sort.py", "S")}
    if not setting.short:
        cases["IS W"] = ("24_npb/integer_sort.py", "W")
    ways = {
        "concentrate": (OURS, CONCENTRATED),
        "spread": (OURS, SPREAD),
        "flat MPI, concentrate": (FLAT, CONCENTRATED),
        "flat MPI, spread": (FLAT, SPREAD),
    }
    with grid_of((2, 2)) as grid:
        for case, words in cases.items():
            for way in setting.order(tuple(ways)):
                launch, ranks = ways[way]
                for seconds, by in seconds_of(setting, grid, launch, ranks, *words):
                    yield Sample(case, 4, way, seconds, by)


def java_grande(setting: Setting) -> Iterator[Sample]:
    """Run programs of size A in one cluster, and spread over two clusters of a site."""
    names = {"26_java_grande/kernels.py": ("series", "crypt")} if setting.short else GRANDE
    halves = {"c0": 2, "c1": 2}
    ways = {
        "concentrate": (OURS, CONCENTRATED),
        "spread": (OURS, halves),
        "spread, one port": (THROUGH, halves),
    }
    with grid_of((2,)) as grid:
        for way in setting.order(tuple(ways)):
            launch, ranks = ways[way]
            for script, words in names.items():
                file = EXAMPLES / script
                one = Ours(reachability="front-end") if launch == THROUGH else Ours()
                said = output_of(grid, one, ranks, file, words, timeout=TIMEOUT)
                for line in said.splitlines():
                    name, *_, seconds, _ = line.split()
                    yield Sample(name, 4, way, float(seconds))


FIGURES = (
    Figure(
        "npb", "EP and IS by strategy and against flat MPI, 4 ranks",
        ("000 3.7", "000 5.8", "001 6", "001 7", "002 4"),
        "EP: spread is slightly faster up to 256 processes, since two "
        "ranks of a host contend for memory. IS: concentrate is faster as soon as spread leaves "
        "the site. Both are slower than native MPI (EP by twice, since it is Java).",
        (
            Claim("IS: concentrate ≤ 0.7 × spread", "concentrate", 0.7, "spread",
                  ("IS S", "IS W")),
            Claim("EP: spread ≤ 1.0 × concentrate", "spread", 1.0, "concentrate", ("EP S",)),
            Claim("EP: ours ≤ 1.1 × flat MPI, both spread", "spread", 1.1, "flat MPI, spread",
                  ("EP S",)),
            Claim("IS: ours ≤ 1.0 × flat MPI, both spread", "spread", 1.0, "flat MPI, spread",
                  ("IS S", "IS W")),
            Claim("IS: ours ≤ 1.2 × flat MPI, both concentrated", "concentrate", 1.2,
                  "flat MPI, concentrate", ("IS S", "IS W")),
        ),
        npb, across="ranks", seconds=150,
        why_not="EP is equally fast both ways.",
        remark="Spread ranks have hosts of their own in the source, and one memory for all here: "
        "what spreading gains for EP cannot show. Every run is verified by the official constants.",
    ),
    Figure(
        "java-grande", "Kernels and applications of the Java Grande Forum, size A, 4 ranks",
        ("000 5.10", "000 5.11"),
        "size B: spread is better than concentrate, probably as two "
        "processes of a host contend for memory; many ports are better than a single one.",
        (
            Claim("spread ≤ 1.0 × concentrate", "spread", 1.0, "concentrate"),
            Claim("many ports ≤ 1.0 × one port, both spread", "spread", 1.0, "spread, one port"),
        ),
        java_grande, across="ranks", seconds=420,
        why_not="messages between clusters take longer, and no memory is gained.",
        remark="Spread is over two clusters of a site. All of them share one memory here. One "
        "port is that of each cluster's front-end.",
    ),
)  # fmt: skip
