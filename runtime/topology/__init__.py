"""Sites, clusters, nodes and ranks as pure values: identifiers, rank tables, neighbourhood."""

from runtime.topology.communicators import Block, Communicator, RankTable, rank_table, translate
from runtime.topology.distance import Neighbourhood, neighbourhood
from runtime.topology.identifiers import Identifier
from runtime.topology.tree import Cluster, Grid, Node, Reachability, Site, Wan

__all__ = [
    "Block",
    "Cluster",
    "Communicator",
    "Grid",
    "Identifier",
    "Neighbourhood",
    "Node",
    "RankTable",
    "Reachability",
    "Site",
    "Wan",
    "neighbourhood",
    "rank_table",
    "translate",
]
