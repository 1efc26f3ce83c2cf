"""Where the members of a communicator are: which share a cluster, which clusters share a site."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """The members in one cluster, in rank order."""

    index: int
    site: int
    """Position of the site in `Layout.sites`."""
    members: tuple[int, ...]

    def leader(self, root: int = -1) -> int:
        """Return the leader of the cluster: the root when it is here, else the first member."""
        return root if root in self.members else self.members[0]


class Layout:
    """The members of a communicator by cluster and site, seen by one of them.

    `places` names for every rank the site and the cluster (any two numbers). Clusters and sites are
    ordered by their first rank, so that partial results can be joined in rank order. With a single
    site there is no wide area: then every cluster counts as a site, and links between clusters are
    treated as links between sites.

    >>> layout = Layout([(0, 0), (0, 0), (1, 0)], me=1)
    >>> [part.members for part in layout.parts], layout.in_order
    ([(0, 1), (2,)], True)
    """

    def __init__(self, places: Sequence[tuple[int, int]], me: int) -> None:
        self.me = me
        self.size = len(places)
        found: dict[tuple[int, int], list[int]] = {}
        for rank, place in enumerate(places):
            found.setdefault(place, []).append(rank)
        flat = len({site for site, _ in found}) == 1
        sites: dict[tuple[int, int] | int, list[int]] = {}
        parts = []
        for index, (place, members) in enumerate(found.items()):
            site = place if flat else place[0]
            sites.setdefault(site, []).append(index)
            parts.append(ClusterPart(index, list(sites).index(site), tuple(members)))
        self.parts = tuple(parts)
        """Clusters, ordered by their first rank."""
        self.sites = tuple(
            tuple(self.parts[index] for index in indexes) for indexes in sites.values()
        )
        """The clusters of each site; sites are ordered by their first rank."""
        self.mine = next(part for part in parts if places[part.members[0]] == places[me])
        """The cluster of this member."""
        self.position = self.mine.members.index(me)
        """The position of this member in its cluster."""

    @cached_property
    def part_of(self) -> tuple[ClusterPart, ...]:
        """Return the cluster of every rank."""
        owners: list[ClusterPart] = [self.mine] * self.size
        for part in self.parts:
            for member in part.members:
                owners[member] = part
        return tuple(owners)

    @cached_property
    def scattered(self) -> Layout:
        """Return the members as if each were a cluster of its own."""
        return Layout([(0, rank) for rank in range(self.size)], self.me)

    @cached_property
    def level(self) -> Layout:
        """Return the members as if each cluster were a site of its own."""
        return Layout([(0, part.index) for part in self.part_of], self.me)

    @cached_property
    def in_order(self) -> bool:
        """Return whether sites, clusters and members are in rank order."""
        walked = [rank for site in self.sites for part in site for rank in part.members]
        return walked == list(range(self.size))

    @cached_property
    def runs(self) -> tuple[tuple[ClusterPart, tuple[int, ...]], ...]:
        """Return the longest ranges of consecutive ranks that share a cluster, in order."""
        stretches: list[tuple[ClusterPart, list[int]]] = []
        for rank, part in enumerate(self.part_of):
            if stretches and stretches[-1][0] is part:
                stretches[-1][1].append(rank)
            else:
                stretches.append((part, [rank]))
        return tuple((part, tuple(ranks)) for part, ranks in stretches)

    @property
    def my_site(self) -> tuple[ClusterPart, ...]:
        """Return the clusters of this member's site."""
        return self.sites[self.mine.site]

    def remote(self) -> list[ClusterPart]:
        """Return the other clusters, those of the own site first."""
        return sorted(
            (part for part in self.parts if part is not self.mine),
            key=lambda part: (part.site != self.mine.site, part.index),
        )

    def gate(self, site: int, root: int = -1, turn: int = 0) -> int:
        """Return the gate of a site: the root when it is there, else a leader of a cluster.

        Different turns give the leaders of different clusters, so that the segments of a large
        message are spread over the clusters of the site.
        """
        parts = self.sites[site]
        for part in parts:
            if root in part.members:
                return root
        return parts[turn % len(parts)].members[0]
