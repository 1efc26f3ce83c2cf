"""Sites, clusters, nodes and ranks as pure values: identifiers, rank tables, neighbourhood."""

from runtime.topology.communicators import Block, Communicator, RankTable, rank_table, translate
from runtime.topology.distance import (
    Neighbourhood,
    hops,
    hops_through_hierarchy,
    neighbourhood,
)
from runtime.topology.identifiers import Identifier
from runtime.topology.rank_names import NamedCluster, RankNames
from runtime.topology.tree import Cluster, Grid, Node, Reachability, Site

__all__ = [
    "Block",
    "Cluster",
    "Communicator",
    "Grid",
    "Identifier",
    "NamedCluster",
    "Neighbourhood",
    "Node",
    "RankNames",
    "RankTable",
    "Reachability",
    "Site",
    "hops",
    "hops_through_hierarchy",
    "neighbourhood",
    "rank_table",
    "translate",
]
