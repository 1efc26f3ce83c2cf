"""A clock that stands still until a test moves it."""

from __future__ import annotations


class ScriptedClock:
    """Stands in for `time.monotonic` wherever a clock is handed in.

    >>> clock = ScriptedClock(100.0)
    >>> clock.advance(2.5)
    >>> clock()
    102.5
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass; raises ValueError for a negative duration."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        self.now += seconds
