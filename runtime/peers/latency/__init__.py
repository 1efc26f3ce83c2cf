"""Round trips between peers: estimates, what to measure next, ranking, and sites."""

from runtime.peers.latency.hint import near_and_others
from runtime.peers.latency.sites import NEAR, grouped_by_distance
from runtime.peers.latency.table import RttSettings, RttTable, RttTarget, network_of

__all__ = [
    "NEAR",
    "RttSettings",
    "RttTable",
    "RttTarget",
    "grouped_by_distance",
    "near_and_others",
    "network_of",
]
