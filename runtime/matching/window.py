"""Flow control: bounds what one sender may have in transit to one receiver, and so memory.

The sender counts what it sent, the receiver what was received. Acknowledgements are batched; the
unacknowledged rest, less than a quarter of the window, is the receiver's debt.
"""

from __future__ import annotations

WINDOW = 8 << 20
"""Bytes in transit at which a sender has to wait: 8 MiB."""

OVERHEAD = 1024
"""What each message counts beside its payload, so that many small ones are bounded too."""


def weight(size: int) -> int:
    """Return what a message of `size` bytes counts against the window."""
    return size + OVERHEAD


class Window:
    """The sender's side.

    A message of any size may be sent while the window is not full, so at most the window plus one
    message is in transit.
    """

    __slots__ = ("_most", "on_its_way")

    def __init__(self, most: int = WINDOW) -> None:
        self._most = most
        self.on_its_way = 0

    @property
    def is_open(self) -> bool:
        """Whether another message may be sent."""
        return self.on_its_way < self._most

    def sent(self, weight: int) -> None:
        """Count a message that was sent."""
        self.on_its_way += weight

    def taken(self, weight: int) -> None:
        """Count what the receiver has acknowledged."""
        self.on_its_way = max(0, self.on_its_way - weight)


class Debt:
    """The receiver's side: what was received and not acknowledged yet."""

    __slots__ = ("_least", "untold")

    def __init__(self, most: int = WINDOW) -> None:
        self._least = most // 4
        self.untold = 0

    def take(self, weight: int) -> int:
        """Count a received message; return how much to acknowledge now, or 0."""
        self.untold += weight
        if self.untold < self._least:
            return 0
        told, self.untold = self.untold, 0
        return told
