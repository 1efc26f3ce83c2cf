"""Ranks with several replicas: which process is which of them, and how they stay alike."""

from runtime.replicas.core import Replication
from runtime.replicas.decisions import UNKNOWN
from runtime.replicas.effects import (
    Decided,
    DecisionsSettled,
    Drop,
    Effect,
    Keep,
    Lead,
    Tell,
    Transmit,
)
from runtime.replicas.limits import ReplicationError, ReplicationLimits
from runtime.replicas.table import Replica, ReplicaTable, TooFewHosts, replica_table

__all__ = [
    "UNKNOWN",
    "Decided",
    "DecisionsSettled",
    "Drop",
    "Effect",
    "Keep",
    "Lead",
    "Replica",
    "ReplicaTable",
    "Replication",
    "ReplicationError",
    "ReplicationLimits",
    "Tell",
    "TooFewHosts",
    "Transmit",
    "replica_table",
]
