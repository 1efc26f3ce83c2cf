"""A clock that never jumps, and how those of processes differ, from the questions they answered.

Each host counts seconds from a moment of its own. A process that answers a question with the time
on its clock was asked before and heard after that, so the difference of the two clocks lies between
two bounds; half of the shortest round trip is by how much their middle may be wrong. Processes that
read the same clock of the same system share what is known of it, and with ours need no question.
"""

from __future__ import annotations

import os
import time
from functools import cache

_HAS_BOOTTIME = hasattr(time, "CLOCK_BOOTTIME")
_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/time"

MOST_ASKED = 16
"""So many of the latest questions may be answered late, as hosts do that are busy."""


def clock() -> float:
    """Return the seconds of a clock that nobody sets, and that goes on while this host sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if _HAS_BOOTTIME else time.monotonic()


@cache
def name_of_clock() -> str:
    """Return which clock `time.monotonic` reads here, "" if the system does not tell.

    Two processes with the same name read the same one: that of one start of one system.
    """
    try:
        with open(_BOOT, encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink(_NAMESPACE)}"
    except OSError:
        return ""


class Clocks:
    """Knows how the clocks of others differ from ours, the best that was found until now.

    >>> clocks = Clocks("mine")
    >>> clocks.asked(1, now=10.0)
    >>> clocks.answered("0:0:0", "other", 1, theirs=510.1, now=10.4)
    >>> clocks.difference("0:0:1", "other", theirs=511.0, now=11.0)
    (499.9, 0.2)
    >>> clocks.difference("0:1:0", "mine", theirs=11.0, now=11.0)
    (0.0, 0.0)
    """

    def __init__(self, own: str) -> None:
        self._own = own
        self._asked: dict[int, float] = {}
        self._best: dict[str, tuple[float, float]] = {}

    def asked(self, number: int, now: float) -> None:
        """Take note of the time before a question with a number is asked of all."""
        self._asked[number] = now
        if len(self._asked) > MOST_ASKED:
            del self._asked[next(iter(self._asked))]

    def answered(self, who: str, clock: str, number: int, theirs: float, now: float) -> None:
        """Take an answer of somebody with the time on a clock, which may have no name."""
        when = self._asked.get(number)
        if when is None:
            return
        error = (now - when) / 2
        read = clock or who
        if read not in self._best or error < self._best[read][1]:
            self._best[read] = round(theirs - (when + now) / 2, 9), round(error, 9)

    def difference(
        self, who: str, clock: str, theirs: float, now: float
    ) -> tuple[float, float | None]:
        """Return by how much another clock is ahead of ours, and the error of that.

        Without an answer it is what would hold if what it says now had taken no time, and nobody
        knows the error.
        """
        if clock and clock == self._own:
            return 0.0, 0.0
        return self._best.get(clock or who, (theirs - now, None))
