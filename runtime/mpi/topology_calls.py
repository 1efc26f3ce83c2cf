"""What communicators tell about the machine: clusters, sites, gateways, distances, other ranks."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from mpi4py import MPI

from gcm.records import dataclass
from runtime.mpi.place import here
from runtime.topology import Identifier, Neighbourhood, Reachability, hops, neighbourhood

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.mpi.membership import Membership


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
    """The rank of the process that stands for the cluster; None if it is not a member."""
    nodes: tuple[str, ...]
    """The names of its nodes."""
    reachability: Reachability
    """From where its processes can be reached."""

    @property
    def size(self) -> int:
        """The number of its processes in the communicator."""
        return len(self.ranks)

    def __str__(self) -> str:
        """Return one line about it."""
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
    """The rank of the process that stands for the site; None if it is not a member."""

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
    """The members of a communicator that stand for a whole cluster or site."""

    clusters: tuple[int, ...]
    """The rank of the first process of each cluster, where that is a member."""
    sites: tuple[int, ...]
    """The rank of the first process of each site, where that is a member."""

    def __str__(self) -> str:
        """Return one line about them."""
        return f"gateways of clusters: {_ranks(self.clusters)}; of sites: {_ranks(self.sites)}"


class Neighborhood(NamedTuple):
    """How far apart two processes are; the nearer is the smaller.

    >>> print(MPI.COMM_GRID.neighborhood(0, 5))                        # doctest: +SKIP
    1 hop, same grid
    """

    hops: int
    """How many hops a message between them takes, as things are now."""
    shares: Neighbourhood
    """The smallest part of the machine that holds both."""

    def __int__(self) -> int:
        """Return the number of hops."""
        return self.hops

    def __str__(self) -> str:
        """Return a few words."""
        unit = "hop" if self.hops == 1 else "hops"
        return f"{self.hops} {unit}, {self.shares.name.lower().replace('_', ' ')}"


class TopologyCalls:
    """The part of a communicator that tells about the machine its members are in."""

    __slots__ = ()
    _members: Membership | None

    def translate(self, rank: int, other: MPI.Comm) -> int | None:
        """Return the rank in another communicator of the process that has `rank` in this one.

        None means that it is not a member there. Raises `MPI.Exception` for a rank that this one
        has not.

        >>> MPI.COMM_CLUSTER.translate(0, MPI.COMM_GRID)               # doctest: +SKIP
        4
        """
        index = self._index_of(rank)
        there = indexes(other)
        return there.index(index) if index in there else None

    def neighborhood(self, first: int, second: int) -> Neighborhood:
        """Return how far two ranks are apart; raises `MPI.Exception` for one that is not here."""
        grid, everybody = here().grid, here().everybody
        pair = everybody[self._index_of(first)], everybody[self._index_of(second)]
        return Neighborhood(hops(grid, *pair), neighbourhood(grid, *pair))

    @property
    def clusters(self) -> tuple[ClusterInfo, ...]:
        """The clusters that have members in this communicator, in the order of the machine."""
        everybody = here().everybody
        members = sorted((everybody[at], rank) for rank, at in enumerate(self._indexes()))
        return tuple(
            _cluster(*position, dict(pairs))
            for position, pairs in groupby(members, lambda one: (one[0].site, one[0].cluster))
        )

    @property
    def sites(self) -> tuple[SiteInfo, ...]:
        """The sites that have members in this communicator, in the order of the machine."""
        return tuple(
            _site(number, tuple(clusters))
            for number, clusters in groupby(
                self.clusters, lambda one: int(one.identifier.partition(":")[0])
            )
        )

    @property
    def my_cluster(self) -> ClusterInfo:
        """The cluster of this process, with its members in this communicator."""
        me = here().me
        mine = f"{me.site}:{me.cluster}"
        return next((one for one in self.clusters if one.identifier == mine), None) or _cluster(
            me.site, me.cluster, {}
        )

    @property
    def my_site(self) -> SiteInfo:
        """The site of this process, with its members in this communicator."""
        mine = here().me.site
        return next((one for one in self.sites if one.identifier == str(mine)), None) or _site(
            mine, ()
        )

    @property
    def gateways(self) -> Gateways:
        """The members of this communicator that stand for a cluster or a site."""
        sites, clusters = self.sites, self.clusters
        return Gateways(
            tuple(one.gateway for one in clusters if one.gateway is not None),
            tuple(one.gateway for one in sites if one.gateway is not None),
        )

    def _indexes(self) -> tuple[int, ...]:
        assert isinstance(self, MPI.Comm)
        return indexes(self)

    def _index_of(self, rank: int) -> int:
        members = self._indexes()
        if not 0 <= rank < len(members):
            raise MPI.Exception(MPI.ERR_RANK)
        return members[rank]


def indexes(comm: MPI.Comm) -> tuple[int, ...]:
    """Return the ranks in COMM_GRID of the members of any communicator, its own group's."""
    members: Membership | None = getattr(comm, "_members", None)
    if members is not None:
        return members.group
    own, world = MPI.Comm.Get_group(comm), MPI.COMM_WORLD.Get_group()
    first = here().first
    try:
        ranks = MPI.Group.Translate_ranks(own, list(range(own.Get_size())), world)
        return tuple(first + rank for rank in ranks)
    finally:
        own.Free()
        world.Free()


def _cluster(site: int, number: int, members: dict[Identifier, int]) -> ClusterInfo:
    grid = here().grid
    found = grid.cluster_at(site, number)
    return ClusterInfo(
        identifier=f"{site}:{number}",
        name=found.name,
        site=grid.sites[site].name,
        ranks=tuple(sorted(members.values())),
        gateway=members.get(Identifier(site, number, 0)),
        nodes=tuple(dict.fromkeys(node.name for node in found.nodes if node.ranks)),
        reachability=found.reachability,
    )


def _site(number: int, clusters: tuple[ClusterInfo, ...]) -> SiteInfo:
    found = here().grid.sites[number]
    first = next(at for at, cluster in enumerate(found.clusters) if cluster.size)
    gateways = [one.gateway for one in clusters if one.identifier == f"{number}:{first}"]
    return SiteInfo(str(number), found.name, clusters, next(iter(gateways), None))


def _ranks(ranks: Iterable[int]) -> str:
    """Return ranks in words, runs of them shortened.

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
