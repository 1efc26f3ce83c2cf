"""Flow control: bounds the bytes that one sender may have in flight to one receiver.

The sender counts the messages it sent, the receiver those it took. The receiver acknowledges them
in batches, so less than a quarter of the window stays unacknowledged.
"""

from __future__ import annotations

WINDOW = 8 << 20
"""Bytes in flight at which a sender has to wait: 8 MiB."""

OVERHEAD = 1024
"""Bytes that each message counts beside its payload, so that many small ones are bounded too."""


def weight(size: int) -> int:
    """Return what a message of `size` bytes counts against the window."""
    return size + OVERHEAD


class Window:
    """The sender's side of the window.

    A message of any size may be sent while the window is not full, so at most the window plus one
    message is in flight.
    """

    __slots__ = ("_most", "in_flight")

    def __init__(self, most: int = WINDOW) -> None:
        self._most = most
        self.in_flight = 0

    @property
    def is_open(self) -> bool:
        """Whether another message may be sent."""
        return self.in_flight < self._most

    def sent(self, weight: int) -> None:
        """Count a message that was sent."""
        self.in_flight += weight

    def taken(self, weight: int) -> None:
        """Count bytes that the receiver has acknowledged."""
        self.in_flight = max(0, self.in_flight - weight)


class ReceiveWindow:
    """The receiver's side of the window: bytes received and not acknowledged yet."""

    __slots__ = ("_least", "unacknowledged")

    def __init__(self, most: int = WINDOW) -> None:
        self._least = most // 4
        self.unacknowledged = 0

    def take(self, weight: int) -> int:
        """Count a received message; return how much to acknowledge now, or 0."""
        self.unacknowledged += weight
        if self.unacknowledged < self._least:
            return 0
        due, self.unacknowledged = self.unacknowledged, 0
        return due
