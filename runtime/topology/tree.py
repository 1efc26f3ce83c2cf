"""The machine as values: a grid of sites, of clusters, of nodes, each node with its ranks.

Two processes are the nearer the smaller the part is that holds both.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum, StrEnum

from gcm.records import dataclass
from runtime.errors import GridError
from runtime.rank_name import RankName


class Reachability(StrEnum):
    """From where the processes of a cluster can be reached."""

    DIRECT = "direct"
    """Any process of the grid can open a connection to any rank of the cluster."""
    FRONT_END = "front-end"
    """Only the front-end can be reached, and all traffic passes through it."""
    OUTWARDS = "outwards"
    """Nothing can be reached from outside, but processes can open connections outwards."""
    ISOLATED = "isolated"
    """Nothing can be reached from outside, and nothing outside can be reached."""


@dataclass(frozen=True, slots=True)
class Wan:
    """A line between emulated sites: seconds that a byte takes one way, bytes a second (0: any)."""

    delay: float
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of a cluster and how many consecutive ranks it holds."""

    name: str
    host: str = "localhost"
    ranks: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes joined by one native MPI; its ranks are numbered node after node.

    `has_tunnel` tells that the launcher's way to its front-end carries connections of ranks, too.
    """

    name: str
    nodes: tuple[Node, ...]
    reachability: Reachability = Reachability.DIRECT
    has_tunnel: bool = False

    @property
    def size(self) -> int:
        """Return the number of ranks."""
        return sum(node.ranks for node in self.nodes)

    def node_of(self, rank: int) -> Node:
        """Return the node that holds a rank; raises `GridError` when there is no such rank."""
        first = 0
        for node in self.nodes:
            if first <= rank < first + node.ranks:
                return node
            first += node.ranks
        raise GridError(
            f"cluster '{self.name}' has no rank {rank}", cure=f"It has {self.size} ranks."
        )


@dataclass(frozen=True, slots=True)
class Site:
    """Clusters that are near each other."""

    name: str
    clusters: tuple[Cluster, ...]

    @property
    def size(self) -> int:
        """Return the number of ranks."""
        return sum(cluster.size for cluster in self.clusters)


@dataclass(frozen=True, slots=True)
class Grid:
    """The whole machine."""

    sites: tuple[Site, ...]

    @property
    def size(self) -> int:
        """Return the number of ranks."""
        return sum(site.size for site in self.sites)

    def cluster_at(self, site: int, cluster: int) -> Cluster:
        """Return the cluster at two positions; raises `GridError` when there is none."""
        if 0 <= site < len(self.sites) and 0 <= cluster < len(self.sites[site].clusters):
            return self.sites[site].clusters[cluster]
        raise GridError(f"the grid has no cluster {site}:{cluster}")

    def cluster_of(self, identifier: RankName) -> Cluster:
        """Return the cluster of a process; raises `GridError` when there is no such process."""
        cluster = self.cluster_at(identifier.site, identifier.number)
        if identifier.rank >= cluster.size:
            raise GridError(
                f"the grid has no process {identifier}",
                cure=f"Cluster '{cluster.name}' has {cluster.size} ranks.",
            )
        return cluster

    def clusters(self) -> Iterator[tuple[int, int, Cluster]]:
        """Yield every cluster with its two positions, in order."""
        for site_number, site in enumerate(self.sites):
            for cluster_number, cluster in enumerate(site.clusters):
                yield site_number, cluster_number, cluster

    def first(self, ranks: int) -> Grid:
        """Return the same sites, clusters and nodes with only the first `ranks` ranks.

        >>> cluster = Cluster("c", (Node("a", ranks=2), Node("b", ranks=2)))
        >>> Grid((Site("s", (cluster,)),)).first(3).sites[0].clusters[0].nodes[1].ranks
        1
        """
        sites = []
        for site in self.sites:
            clusters = []
            for cluster in site.clusters:
                nodes = []
                for node in cluster.nodes:
                    nodes.append(Node(node.name, node.host, min(node.ranks, ranks)))
                    ranks -= nodes[-1].ranks
                clusters.append(
                    Cluster(cluster.name, tuple(nodes), cluster.reachability, cluster.has_tunnel)
                )
            sites.append(Site(site.name, tuple(clusters)))
        return Grid(tuple(sites))

    def identifiers(self) -> Iterator[RankName]:
        """Yield every process of the grid, in the order of their grid ranks."""
        for site, cluster, found in self.clusters():
            for rank in range(found.size):
                yield RankName(site, cluster, rank)


class Neighbourhood(IntEnum):
    """The smallest part of the machine that holds both processes; a smaller value is nearer."""

    SAME_PROCESS = 0
    SAME_NODE = 1
    SAME_CLUSTER = 2
    SAME_SITE = 3
    SAME_GRID = 4


def neighbourhood(grid: Grid, first: RankName, second: RankName) -> Neighbourhood:
    """Return what the two processes share; raises `GridError` when one does not exist."""
    cluster = grid.cluster_of(first)
    grid.cluster_of(second)
    if first == second:
        return Neighbourhood.SAME_PROCESS
    if first.same_cluster(second):
        shared = cluster.node_of(first.rank) == cluster.node_of(second.rank)
        return Neighbourhood.SAME_NODE if shared else Neighbourhood.SAME_CLUSTER
    return Neighbourhood.SAME_SITE if first.same_site(second) else Neighbourhood.SAME_GRID
