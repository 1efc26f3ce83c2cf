"""The distance of two processes, and the hops to expect for a message between them."""

from __future__ import annotations

from enum import IntEnum

from runtime.topology.identifiers import Identifier
from runtime.topology.tree import Grid, Reachability


class Neighbourhood(IntEnum):
    """The smallest part of the machine that holds both processes; a smaller value is nearer."""

    SAME_PROCESS = 0
    SAME_NODE = 1
    SAME_CLUSTER = 2
    SAME_SITE = 3
    SAME_GRID = 4


# wrapper - cluster - site - cluster - wrapper, and one level more for the grid
_HOPS_THROUGH_SITE = 4
_HOPS_THROUGH_GRID = 6

_CAN_CONNECT = frozenset(
    {
        (Reachability.DIRECT, Reachability.DIRECT),
        (Reachability.DIRECT, Reachability.OUTWARDS),
        (Reachability.OUTWARDS, Reachability.DIRECT),
    }
)


def neighbourhood(grid: Grid, first: Identifier, second: Identifier) -> Neighbourhood:
    """Return what the two processes share; raises `GridError` when one does not exist."""
    cluster = grid.cluster_of(first)
    grid.cluster_of(second)
    if first == second:
        return Neighbourhood.SAME_PROCESS
    if first.same_cluster(second):
        shared = cluster.node_of(first.rank) == cluster.node_of(second.rank)
        return Neighbourhood.SAME_NODE if shared else Neighbourhood.SAME_CLUSTER
    return Neighbourhood.SAME_SITE if first.same_site(second) else Neighbourhood.SAME_GRID


def hops_through_hierarchy(first: Identifier, second: Identifier) -> int:
    """Return the hops of a message that follows the bindings of the component hierarchy.

    Inside a cluster a message goes by native MPI, which counts as one hop.
    """
    if first == second:
        return 0
    if first.same_cluster(second):
        return 1
    return _HOPS_THROUGH_SITE if first.same_site(second) else _HOPS_THROUGH_GRID


def hops(grid: Grid, first: Identifier, second: Identifier) -> int:
    """Return the hops to expect between two processes, given who can reach whom.

    One hop when either can open a connection to the other, else the way through the hierarchy.
    Raises `GridError` when one of the processes does not exist.

    >>> from runtime.topology.tree import Cluster, Node, Site
    >>> pair = tuple(Cluster(name, (Node("n", ranks=1),)) for name in "ab")
    >>> hops(Grid((Site("s", pair),)), Identifier(0, 0, 0), Identifier(0, 1, 0))
    1
    """
    here, there = grid.cluster_of(first), grid.cluster_of(second)
    if first.same_cluster(second) or (here.reachability, there.reachability) not in _CAN_CONNECT:
        return hops_through_hierarchy(first, second)
    return 1
