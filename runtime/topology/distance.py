"""The distance of two processes."""

from __future__ import annotations

from enum import IntEnum

from runtime.topology.identifiers import Identifier
from runtime.topology.tree import Grid


class Neighbourhood(IntEnum):
    """The smallest part of the machine that holds both processes; a smaller value is nearer."""

    SAME_PROCESS = 0
    SAME_NODE = 1
    SAME_CLUSTER = 2
    SAME_SITE = 3
    SAME_GRID = 4


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
