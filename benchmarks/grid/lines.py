"""A line between two places: how late what enters it leaves, and what does not fit; pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FULL_BUFFER = 256 * 1024
PACKET = 1538
"""Bytes of a full packet on a line, with what Ethernet adds."""


@dataclass(frozen=True, slots=True)
class Line:
    """What a line can do, one way: seconds of delay, bits per second, bytes that may wait.

    Of so many packets, between 0 and 1, it has a `loss`.

    Without `queue` a line holds twice what is under way on it and back, and a quarter megabyte.

    >>> Line(delay=0.005, rate=1e9).most_waiting
    2762144.0
    """

    delay: float
    rate: float
    queue: float | None = None
    loss: float = 0.0

    def __post_init__(self) -> None:
        if self.delay < 0 or self.rate <= 0 or (self.queue is not None and self.queue < 0):
            raise ValueError(f"{self} cannot be: no delay below 0, no rate of 0, no queue below 0")
        if not 0 <= self.loss < 1:
            raise ValueError(f"{self} cannot be: it has to lose from 0 on and less than all")

    @property
    def most_waiting(self) -> float:
        """The bytes that may wait for their turn."""
        if self.queue is not None:
            return self.queue
        return 2 * (2 * self.delay * self.rate / 8) + FULL_BUFFER


class Traffic:
    """What goes through one line; what finds its queue full is dropped.

    The caller tells the time, in seconds that never go back, and hands in `dice`, which return
    numbers from 0 to 1.
    """

    __slots__ = ("_busy_until", "_dice", "_longest_wait", "_seconds_per_byte", "bytes", "dropped",
                 "line")  # fmt: skip

    def __init__(self, line: Line, dice: Callable[[], float] = lambda: 1.0) -> None:
        self._dice = dice
        self.bytes = self.dropped = 0
        self._busy_until = 0.0
        self.change(line)

    def change(self, line: Line) -> None:
        """Be another line from now on; what is under way arrives as it would have."""
        self.line = line
        self._seconds_per_byte = 8 / line.rate
        self._longest_wait = line.most_waiting * self._seconds_per_byte

    def admit(self, now: float, size: int) -> float | None:
        """Return when what enters now arrives at the other end, or None when it is dropped.

        Something large is admitted as long as there is any room, like the packets it stands for;
        it is lost as a whole, as often as any of them would be.
        """
        begin = max(self._busy_until, now)
        if begin - now > self._longest_wait:
            self.dropped += 1
            return None
        self._busy_until = begin + size * self._seconds_per_byte
        self.bytes += size
        loss = self.line.loss
        if loss and self._dice() < loss * size / PACKET:
            self.dropped += 1
            return None
        return self._busy_until + self.line.delay
