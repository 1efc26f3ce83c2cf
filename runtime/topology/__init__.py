"""Sites, clusters, nodes and ranks as pure values: identifiers, rank tables, neighbourhood."""

from runtime.topology.communicators import Block, Communicator, RankTable, rank_table, translate
from runtime.topology.rank_names import NO_NAMES, NamedCluster, Part, RankNames, member_in_words
from runtime.topology.tree import (
    Cluster,
    Grid,
    Neighbourhood,
    Node,
    Reachability,
    Site,
    Wan,
    neighbourhood,
)

__all__ = [
    "NO_NAMES",
    "Block",
    "Cluster",
    "Communicator",
    "Grid",
    "NamedCluster",
    "Neighbourhood",
    "Node",
    "Part",
    "RankNames",
    "RankTable",
    "Reachability",
    "Site",
    "Wan",
    "member_in_words",
    "neighbourhood",
    "rank_table",
    "translate",
]
