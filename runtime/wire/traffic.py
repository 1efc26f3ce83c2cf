"""What has gone between two ranks, for summaries."""

from __future__ import annotations

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Traffic:
    """What went between this rank and one peer.

    Of the `connections` so many are `resumptions`: they took the place of one that broke. Beside
    the one in use there were at most so many `lanes` at a time, which carry parts of payloads.
    """

    sent_messages: int
    sent_bytes: int
    received_messages: int
    received_bytes: int
    connections: int
    resumptions: int = 0
    lanes: int = 0
