"""What communicators tell about the machine: clusters, sites, gateways, distances, other ranks."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.communicators.members import indexes
from runtime.mpi.process.place import here
from runtime.mpi.progress.predefined import running_engine
from runtime.rank_name import ClusterName, RankName

if TYPE_CHECKING:
    from runtime import topology as distances
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.surface import topology_facts as facts
else:
    distances = LazyModule("runtime.topology")
    facts = LazyModule("runtime.mpi.surface.topology_facts")


class TopologyCalls:
    """The part of a communicator that describes the machine its members are in."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def translate(self, rank: int, other: MPI.Comm) -> int | None:
        """Return the rank in another communicator of the process that has `rank` in this one.

        None means that it is not a member there. Raises `MPI.Exception` for an invalid rank.

        >>> MPI.COMM_CLUSTER.translate(0, MPI.COMM_GRID)               # doctest: +SKIP
        4
        """
        index = self._index_of(rank)
        there = indexes(other)
        return there.index(index) if index in there else None

    def neighborhood(self, first: int, second: int) -> facts.Neighborhood:
        """Return how far two ranks are apart; raises `MPI.Exception` for an invalid one.

        Where this process has connected to the other, the hops are those of that connection;
        otherwise those of the shortest route that the reachability in the descriptor allows.
        """
        grid, everybody = here().grid, here().everybody
        indexes = self._index_of(first), self._index_of(second)
        pair = everybody[indexes[0]], everybody[indexes[1]]
        hops = _hops_of_connection(*indexes)
        if hops is None:
            hops = _hops_of_shortest(grid, *pair)
        return facts.Neighborhood(hops, distances.neighbourhood(grid, *pair))

    @property
    def clusters(self) -> tuple[facts.ClusterInfo, ...]:
        """The clusters that have members in this communicator, in the order of the machine."""
        everybody = here().everybody
        members = sorted((everybody[at], rank) for rank, at in enumerate(self._indexes()))
        return tuple(
            _cluster(*position, dict(pairs))
            for position, pairs in groupby(members, lambda one: (one[0].site, one[0].number))
        )

    @property
    def sites(self) -> tuple[facts.SiteInfo, ...]:
        """The sites that have members in this communicator, in the order of the machine."""
        return tuple(
            _site(number, tuple(clusters))
            for number, clusters in groupby(
                self.clusters, lambda one: ClusterName.parse(one.identifier).site
            )
        )

    @property
    def my_cluster(self) -> facts.ClusterInfo:
        """The cluster of this process, with its members in this communicator."""
        me = here().me
        mine = me.cluster
        return next((one for one in self.clusters if one.identifier == mine), None) or _cluster(
            me.site, me.number, {}
        )

    @property
    def my_site(self) -> facts.SiteInfo:
        """The site of this process, with its members in this communicator."""
        mine = here().me.site
        return next((one for one in self.sites if one.identifier == str(mine)), None) or _site(
            mine, ()
        )

    @property
    def gateways(self) -> facts.Gateways:
        """The members of this communicator that are gateways of a cluster or a site."""
        sites, clusters = self.sites, self.clusters
        return facts.Gateways(
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


def _hops_of_connection(first: int, second: int) -> int | None:
    """Return the hops of this process's connection to another one, if known."""
    me, engine = here().index, running_engine()
    if me not in (first, second) or engine is None or engine.connections is None:
        return None
    from runtime.wire import PeerConnections
    from runtime.wire.opening import passed

    if not isinstance(engine.connections, PeerConnections):
        return None  # each replica has a connection of its own
    between = passed(engine.connections, second if me == first else first)
    return None if between is None else len(between) + 1


def _hops_of_shortest(grid: distances.Grid, first: RankName, second: RankName) -> int:
    if first == second:
        return 0
    from runtime.routing import routes

    found = routes(grid, first, second)
    if not found:
        raise MPI.Exception(MPI.ERR_OTHER)
    return found[0].hops


def _cluster(site: int, number: int, members: dict[RankName, int]) -> facts.ClusterInfo:
    grid = here().grid
    found = grid.cluster_at(site, number)
    return facts.ClusterInfo(
        identifier=f"{site}:{number}",
        name=found.name,
        site=grid.sites[site].name,
        ranks=tuple(sorted(members.values())),
        gateway=members.get(RankName(site, number, 0)),
        nodes=tuple(dict.fromkeys(node.name for node in found.nodes if node.ranks)),
        reachability=found.reachability,
    )


def _site(number: int, clusters: tuple[facts.ClusterInfo, ...]) -> facts.SiteInfo:
    found = here().grid.sites[number]
    first = next(at for at, cluster in enumerate(found.clusters) if cluster.size)
    gateways = [one.gateway for one in clusters if one.identifier == f"{number}:{first}"]
    return facts.SiteInfo(str(number), found.name, clusters, next(iter(gateways), None))
