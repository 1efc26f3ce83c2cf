"""What communicators tell about the machine, as small printable values."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from gcm.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.topology import Neighbourhood, Reachability


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """A cluster as a communicator sees it: ranks are those in the communicator.

    >>> print(MPI.COMM_GRID.my_cluster)                                # doctest: +SKIP
    cluster lyon/rhone (0:1): ranks 2 to 5 on node1 and node2
    """

    identifier: str
    """Site and cluster by number, such as `0:1`."""
    name: str
    site: str
    """The name of its site."""
    ranks: tuple[int, ...]
    """The ranks of those members of the communicator that are in the cluster."""
    gateway: int | None
    """The rank of the cluster's gateway; None if it is not a member."""
    nodes: tuple[str, ...]
    """The names of its nodes."""
    reachability: Reachability
    """From where its processes can be reached."""

    @property
    def size(self) -> int:
        """The number of its processes in the communicator."""
        return len(self.ranks)

    def __str__(self) -> str:
        where = f" on {_listed(self.nodes)}" if self.nodes else ""
        named = f"cluster {self.site}/{self.name} ({self.identifier})"
        return f"{named}: {_ranks(self.ranks)}{where}"


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A site as a communicator sees it: ranks are those in the communicator."""

    identifier: str
    """The number of the site, such as `0`."""
    name: str
    clusters: tuple[ClusterInfo, ...]
    """Those of its clusters that have a member in the communicator."""
    gateway: int | None
    """The rank of the site's gateway; None if it is not a member."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of those members of the communicator that are in the site."""
        return tuple(sorted(rank for cluster in self.clusters for rank in cluster.ranks))

    @property
    def size(self) -> int:
        """The number of its processes in the communicator."""
        return len(self.ranks)

    def __str__(self) -> str:
        """Return a line about it and one about each of its clusters."""
        head = f"site {self.name} ({self.identifier}): {_ranks(self.ranks)}"
        return "\n".join([head, *(f"  {cluster}" for cluster in self.clusters)])


@dataclass(frozen=True, slots=True)
class Gateways:
    """The members of a communicator that are gateways of a cluster or site."""

    clusters: tuple[int, ...]
    """The rank of the first process of each cluster, where that is a member."""
    sites: tuple[int, ...]
    """The rank of the first process of each site, where that is a member."""

    def __str__(self) -> str:
        return f"gateways of clusters: {_ranks(self.clusters)}; of sites: {_ranks(self.sites)}"


class Neighborhood(NamedTuple):
    """How far apart two processes are; nearer compares as smaller.

    >>> print(MPI.COMM_GRID.neighborhood(0, 5))                        # doctest: +SKIP
    1 hop, same grid
    """

    hops: int
    """How many connections a message between them passes."""
    shares: Neighbourhood
    """The smallest part of the machine that holds both."""

    def __int__(self) -> int:
        """Return the number of hops."""
        return self.hops

    def __str__(self) -> str:
        unit = "hop" if self.hops == 1 else "hops"
        return f"{self.hops} {unit}, {self.shares.name.lower().replace('_', ' ')}"


def _ranks(ranks: Iterable[int]) -> str:
    """Return ranks in words, with ranges shortened.

    >>> _ranks([0, 1, 2, 5])
    'ranks 0 to 2 and 5'
    """
    numbers = list(ranks)
    if not numbers:
        return "no ranks"
    runs: list[str] = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        values = [value for _, value in run]
        runs.append(f"{values[0]} to {values[-1]}" if len(values) > 1 else str(values[0]))
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {_listed(runs)}"


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
