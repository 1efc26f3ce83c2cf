"""How much replication keeps in memory at most, and how it fails."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.errors import GridError


@dataclass(frozen=True, slots=True)
class ReplicationLimits:
    """How much is kept at most."""

    kept_bytes: int = 64 << 20
    """Of messages that are sent here and by no master yet; beyond that sends wait."""
    decisions: int = 4096
    """So many decisions the master may be ahead of its slowest replica; beyond that it waits."""
    batch: int = 64
    """So many messages arrive before they are acknowledged without anybody asking for it."""
    batch_bytes: int = 4 << 20
    """The same for their bytes, of which the replicas of the sender keep copies until then."""


class ReplicationError(GridError):
    """The cores of a run contradict each other: a fault in the protocol or in what carries it."""
