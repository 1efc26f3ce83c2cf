"""The grids on which collectives are measured, and how each one is measured; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.grid import Layout, Line

KIB, MIB = 1 << 10, 1 << 20

USUAL = (
    ("barrier", 0),
    ("bcast", 8),
    ("bcast", MIB),
    ("bcast", 4 * MIB),
    ("gather", 64 * KIB),
    ("gather", MIB),
    ("allreduce", 8),
    ("allreduce", 64 * KIB),
    ("allreduce", MIB),
    ("allgather", MIB),
    ("alltoall", 64 * KIB),
    ("alltoall", MIB),
)
BRIEF = tuple(case for case in USUAL if case not in (("bcast", 4 * MIB), ("alltoall", MIB)))


@dataclass(frozen=True, slots=True)
class Scenario:
    """A grid, the ranks of each of its clusters, and what to measure there."""

    name: str
    title: str
    layout: Layout
    ranks: tuple[int, ...]
    cases: Sequence[tuple[str, int]] = USUAL
    cyclic: bool = False
    has_goals: bool = False

    @property
    def places(self) -> tuple[int, ...]:
        """The ranks of each site; of each cluster where there is only one site."""
        clusters = self.layout.clusters
        if len(self.layout.sites) == 1:
            return self.ranks
        sites = [0] * len(self.layout.sites)
        for cluster, count in zip(clusters, self.ranks, strict=True):
            sites[cluster.site] += count
        return tuple(sites)

    def cluster_of(self, place: int) -> str:
        """Return the first cluster of a place."""
        clusters = self.layout.clusters
        if len(self.layout.sites) == 1:
            return clusters[place].name
        return next(one.name for one in clusters if one.site == place)

    def line(self, one: int, other: int) -> Line:
        """Return the line between two places."""
        return self.layout.lan if len(self.layout.sites) == 1 else self.layout.line(one, other)

    @property
    def by_cluster(self) -> dict[str, int]:
        """The ranks of each cluster by its name."""
        names = (one.name for one in self.layout.clusters)
        return dict(zip(names, self.ranks, strict=True))


SCENARIOS = (
    Scenario(
        "usual",
        "2 sites x 2 clusters x 2 ranks, 5 ms and 1 Gbit/s between sites",
        Layout((2, 2)),
        (2, 2, 2, 2),
        has_goals=True,
    ),
    Scenario(
        "slow",
        "2 sites x 2 clusters x 2 ranks, 10 ms and 100 Mbit/s between sites",
        Layout((2, 2), wan=Line(0.010, 100e6)),
        (2, 2, 2, 2),
        BRIEF,
        has_goals=True,
    ),
    Scenario(
        "unequal",
        "3 sites of 1, 2 and 1 clusters with 1, 1 + 2 and 3 ranks; 5 ms and 1 Gbit/s, "
        "15 ms and 300 Mbit/s, 10 ms and 500 Mbit/s",
        Layout(
            (1, 2, 1),
            between={(0, 2): Line(0.015, 300e6), (1, 2): Line(0.010, 500e6)},
        ),
        (1, 1, 2, 3),
        BRIEF,
        has_goals=True,
    ),
    Scenario(
        "cyclic",
        "like the first one, ranks dealt out to the clusters like cards",
        Layout((2, 2)),
        (2, 2, 2, 2),
        BRIEF,
        cyclic=True,
        has_goals=True,
    ),
)
