"""Round trips between peers: estimates, what to measure next, ranking, and sites."""

from runtime.peers.latency.hint import near_and_others
from runtime.peers.latency.sites import (
    ASKER,
    NEAR,
    Distances,
    Sites,
    sites_as_far_as_known,
)
from runtime.peers.latency.table import RttSettings, RttTable, RttTarget, network_of

__all__ = [
    "ASKER",
    "NEAR",
    "Distances",
    "RttSettings",
    "RttTable",
    "RttTarget",
    "Sites",
    "near_and_others",
    "network_of",
    "sites_as_far_as_known",
]
