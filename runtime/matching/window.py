"""How much one sender may have on its way to one receiver, so that nobody's memory grows for ever.

The sender counts what it sent, the receiver what was taken. What was taken is told back in large
pieces; the rest of it, less than a quarter of the window, is the receiver's debt.
"""

from __future__ import annotations

WINDOW = 8 << 20
"""How many bytes may be on their way before a sender has to wait: 8 MiB."""

OVERHEAD = 1024
"""What each message counts beside its own bytes, so that many small ones are bounded too."""


def weight(size: int) -> int:
    """Return what a message of `size` bytes counts."""
    return size + OVERHEAD


class Window:
    """The sender's side.

    A message of any size may be sent while less than the window is on its way, so at most the
    window and one message are.
    """

    __slots__ = ("_most", "on_its_way")

    def __init__(self, most: int = WINDOW) -> None:
        self._most = most
        self.on_its_way = 0

    @property
    def is_open(self) -> bool:
        """Whether one more message may be sent."""
        return self.on_its_way < self._most

    def sent(self, weight: int) -> None:
        """Count a message that was sent."""
        self.on_its_way += weight

    def taken(self, weight: int) -> None:
        """Count what the receiver says was taken."""
        self.on_its_way = max(0, self.on_its_way - weight)


class Debt:
    """The receiver's side: what was taken and has not been told."""

    __slots__ = ("_least", "untold")

    def __init__(self, most: int = WINDOW) -> None:
        self._least = most // 4
        self.untold = 0

    def take(self, weight: int) -> int:
        """Count a message that was taken; return how much to tell the sender now, or 0."""
        self.untold += weight
        if self.untold < self._least:
            return 0
        told, self.untold = self.untold, 0
        return told
