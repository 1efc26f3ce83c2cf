"""Who has asked whether a rank has ended. Pure.

In a run that needs all its ranks nobody is told of those that end well. So a rank that ends itself,
and has something left for one to which there is no connection, would try to reach it for as long as
a firewall might be at fault. It asks the launcher instead.
"""

from __future__ import annotations

from runtime.machine.deaths import RankDeath
from runtime.transport.keys import parsed


class AskedEnds:
    """The ends of ranks, and who waits for those that live, by names such as `0:1:0#2`.

    >>> asked = AskedEnds()
    >>> asked.ask("0:0:0#1", "0:1:0#1") is None  # it lives
    True
    >>> asked.ended(death := RankDeath.lost("0:1:0", "is lost"))
    ['0:0:0']
    >>> asked.ask("0:0:1#1", "0:1:0#1") == death
    True
    """

    def __init__(self) -> None:
        self._ends: dict[str, RankDeath] = {}
        self._waiting: dict[str, set[str]] = {}

    def ask(self, by: str, rank: str) -> RankDeath | None:
        """Return how a rank has ended; None if it lives: then `by` is among those told later."""
        name = parsed(rank)[0]
        death = self._ends.get(name)
        if death is None:
            self._waiting.setdefault(name, set()).add(parsed(by)[0])
        return death

    def ended(self, death: RankDeath) -> list[str]:
        """Record how a rank has ended; return who has asked to be told."""
        name = str(death.rank.place)
        self._ends[name] = death
        return sorted(self._waiting.pop(name, ()))

    def begins(self, rank: str) -> None:
        """Record that a process takes a rank; what was asked by or about a former one is over."""
        self._ends.pop(rank, None)
        self._waiting.pop(rank, None)
        for waiting in self._waiting.values():
            waiting.discard(rank)
