"""Ranks with several replicas: which process is which of them, and how they stay alike."""

from runtime.replicas.core import Replication
from runtime.replicas.decisions import UNKNOWN
from runtime.replicas.effects import (
    Decided,
    Deliver,
    Drop,
    Effect,
    Keep,
    Lead,
    Settled,
    Tell,
    Transmit,
)
from runtime.replicas.limits import Limits, ReplicationError
from runtime.replicas.table import Replica, ReplicaTable, TooFewHosts, replica_table

__all__ = [
    "UNKNOWN",
    "Decided",
    "Deliver",
    "Drop",
    "Effect",
    "Keep",
    "Lead",
    "Limits",
    "Replica",
    "ReplicaTable",
    "Replication",
    "ReplicationError",
    "Settled",
    "Tell",
    "TooFewHosts",
    "Transmit",
    "replica_table",
]
