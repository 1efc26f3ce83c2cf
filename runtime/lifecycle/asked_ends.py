"""Who has asked whether a rank has ended. Pure.

In a run that needs all its ranks nobody is told of those that end well. So a rank that ends itself,
and has something left for one to which there is no connection, would try to reach it for as long as
a firewall might be at fault. It asks the launcher instead.
"""

from __future__ import annotations

from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName


class AskedEnds:
    """The ends of ranks, and who waits for those that live; each is known by its place.

    >>> asked, far = AskedEnds(), RankName(0, 1, 0)
    >>> asked.ask(RankName(0, 0, 0), far) is None  # it lives
    True
    >>> asked.ended(death := RankDeath.lost(far, "is lost"))
    [RankName(site=0, number=0, rank=0, incarnation=0)]
    >>> asked.ask(RankName(0, 0, 1), far) == death
    True
    """

    def __init__(self) -> None:
        self._ends: dict[RankName, RankDeath] = {}
        self._waiting: dict[RankName, set[RankName]] = {}

    def ask(self, by: RankName, rank: RankName) -> RankDeath | None:
        """Return how a rank has ended; None if it lives: then `by` is among those told later."""
        death = self._ends.get(rank.place)
        if death is None:
            self._waiting.setdefault(rank.place, set()).add(by.place)
        return death

    def ended(self, death: RankDeath) -> list[RankName]:
        """Record how a rank has ended; return who has asked to be told."""
        place = death.rank.place
        self._ends[place] = death
        return sorted(self._waiting.pop(place, ()))

    def begins(self, rank: RankName) -> None:
        """Record that a process takes a rank; what was asked by or about a former one is over."""
        self._ends.pop(rank.place, None)
        self._waiting.pop(rank.place, None)
        for waiting in self._waiting.values():
            waiting.discard(rank.place)
