"""How long to ask again and again for what will be there soon, instead of sleeping."""

from __future__ import annotations

from resource import RUSAGE_THREAD, getrusage

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable

SOON = 1e-3
"""Waits that usually take less are worth a processor: waking up takes a good part of them."""

_WEIGHT = 1 / 8
"""How much one wait counts in what is usual."""

_LONGEST = 2 * SOON
"""A longer wait counts as one of so many seconds, so that one of a minute is soon forgotten."""

_LEAST_PAUSE, _MOST_PAUSE = 1e-3, 0.1
"""For how many seconds to leave the processor to others after one of them has needed it."""


class BriefWaits:
    """Decides before each wait for how long to ask, by what the last waits took.

    Who asks keeps a processor busy. That is harmless while there are enough of them, which is said
    by `has_processor` and, while the program runs, by `preempted`: it counts how often this thread
    had to make room for another one. The more often that comes, the longer are the times in which
    all waits sleep. Times are handed in.
    """

    def __init__(self, *, has_processor: bool, preempted: Callable[[], int]) -> None:
        self._has_processor = has_processor
        self._preempted = preempted
        self._preempted_before = 0
        self._usual = _LONGEST
        self._pause = _LEAST_PAUSE
        self._sleep_until = 0.0

    def patience(self, now: float) -> float:
        """Return for how many seconds to ask at first in a wait that begins now."""
        if not self._has_processor or self._usual >= SOON or now < self._sleep_until:
            return 0.0
        self._preempted_before = self._preempted()
        return 2 * self._usual

    def ended(self, begun: float, now: float, *, asked: bool) -> None:
        """Learn from a wait that has ended."""
        self._usual += _WEIGHT * (min(now - begun, _LONGEST) - self._usual)
        if not asked:
            return
        if self._preempted() == self._preempted_before:
            self._pause = max(self._pause / 2, _LEAST_PAUSE)
        else:
            self._sleep_until = now + self._pause
            self._pause = min(self._pause * 2, _MOST_PAUSE)


def preemptions() -> int:
    """Return how often this thread had to make room for another one on its processor."""
    return getrusage(RUSAGE_THREAD).ru_nivcsw
