"""How long to ask again and again for what will be there soon, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from resource import RUSAGE_THREAD, getrusage
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    Found = TypeVar("Found")

SOON = 1e-3
"""Waits that usually take less are worth a processor: waking up takes a good part of them."""

_WEIGHT = 1 / 8
"""How much one wait counts in what is usual."""

_LONGEST = 2 * SOON
"""A longer wait counts as one of so many seconds, so that one of a minute is soon forgotten."""

_UNDISTURBED = 1e-4
"""Who has asked for a shorter time was not kept from it by others: they run for longer."""

_LEAST_PAUSE, _MOST_PAUSE = 1e-3, 0.1
"""For how many seconds to leave the processor to others after one of them has needed it."""


def preemptions() -> int:
    """Return how often this thread had to make room for another one on its processor."""
    return getrusage(RUSAGE_THREAD).ru_nivcsw


class BriefWaits:
    """Waits, of which the usual ones are brief, without being put to sleep and woken.

    Asking keeps a processor busy. That is harmless while there are enough of them. Whether there
    are tells `preempted`, which counts how often this thread had to make room for another one. The
    more often that happens, the longer are the times in which all waits sleep. Any thread may wait;
    what they learn is a guess.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.monotonic,
        preempted: Callable[[], int] = preemptions,
        tick: float = 1.0,
    ) -> None:
        self._now = now
        self._preempted = preempted
        self._tick = tick
        self._usual = _LONGEST
        self._pause = _LEAST_PAUSE
        self._sleep_until = 0.0

    def wait(self, poll: Callable[[float | None], Found], timeout: float | None) -> Found:
        """Return what `poll` finds within `timeout` seconds, or nothing; None is for ever.

        `poll` takes for how long to sleep, and returns something false if there is nothing.
        """
        if timeout == 0:
            return poll(0)
        begun, taken = self._now(), 0.0
        found: Found | None = None
        if self._usual < SOON and begun >= self._sleep_until:
            patience = 2 * self._usual
            patience = patience if timeout is None else min(patience, timeout)
            preempted = self._preempted()
            found = poll(0)
            while not found and taken < patience:
                found, taken = poll(0), self._now() - begun
            if taken >= _UNDISTURBED and self._preempted() != preempted:
                self._sleep_until = begun + taken + self._pause
                self._pause = min(self._pause * 2, _MOST_PAUSE)
            elif self._pause > _LEAST_PAUSE:
                self._pause /= 2
        if not found:
            left = None if timeout is None else max(0.0, timeout - taken) / self._tick
            found = poll(left)
            taken = self._now() - begun
        if found or taken >= SOON:
            self._usual += _WEIGHT * (min(taken, _LONGEST) - self._usual)
        return found
