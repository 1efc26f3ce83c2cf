"""How far a watcher trusts itself: one that is overloaded accuses others more slowly."""

from __future__ import annotations


class LocalHealth:
    """A score that bad events raise and good cycles lower.

    The time that others have to answer a ping is multiplied by it plus one.

    >>> health = LocalHealth(most=8)
    >>> health.worse(); health.multiplier
    2
    >>> health.cycle_over(); health.multiplier     # the bad event was in this cycle
    2
    >>> health.cycle_over(); health.multiplier
    1
    """

    __slots__ = ("_is_good", "_most", "_score")

    def __init__(self, most: int) -> None:
        self._most = most
        self._score = 0
        self._is_good = True

    @property
    def multiplier(self) -> int:
        """By what the time to answer is multiplied."""
        return 1 + self._score

    def worse(self) -> None:
        """Count a bad event: a late round, or an answer that came late."""
        self._is_good = False
        self._score = min(self._score + 1, self._most)

    def cycle_over(self) -> None:
        """Forgive one bad event after a cycle without any."""
        if self._is_good:
            self._score = max(0, self._score - 1)
        self._is_good = True
