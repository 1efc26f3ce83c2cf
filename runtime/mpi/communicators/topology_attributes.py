"""The machine as attributes of communicators, as MPICH-G2 had them."""

from __future__ import annotations

from itertools import accumulate

from runtime.mpi.process.place import here

TOPOLOGY_DEPTHS, TOPOLOGY_COLORS = -7011, -7012
"""Attributes of communicators: how many levels each rank has, and what it shares on each.

Two ranks have the same colour on a level if they are in the same part of the machine: the grid, the
site, the cluster, the node. Colours of different levels have nothing to do with each other.
"""

LEVELS = ("grid", "site", "cluster", "node")


def topology(members: tuple[int, ...], keyval: int) -> tuple[object, ...]:
    """Return the attribute of a communicator with these members, ranks in COMM_GRID."""
    if keyval == TOPOLOGY_DEPTHS:
        return (len(LEVELS),) * len(members)
    place = here()
    clusters = [cluster for site in place.grid.sites for cluster in site.clusters]
    begins = [0, *accumulate(len(cluster.nodes) for cluster in clusters)]
    colors = []
    for one in (place.everybody[at] for at in members):
        cluster = place.grid.cluster_of(one)
        number = next(at for at, known in enumerate(clusters) if known is cluster)
        own = cluster.node_of(one.rank)
        node = next(at for at, known in enumerate(cluster.nodes) if known is own)
        colors.append((0, one.site, number, begins[number] + node))
    return tuple(colors)


def is_topology(keyval: int) -> bool:
    """Return whether a key is of an attribute of the topology."""
    return keyval in (TOPOLOGY_DEPTHS, TOPOLOGY_COLORS)
