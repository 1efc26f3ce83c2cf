"""Ranks that cannot reach each other, by names with incarnations such as `0:1:0#2`. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from runtime.transport.keys import parsed


class Suspicions:
    """Who believes whom to be lost, until it is withdrawn or one of the two is no more.

    `present` returns which incarnation of a rank is the present one. About a rank that is stopped
    nothing is decided: it answers nobody, and lives.

    >>> known = Suspicions(lambda _: 1)
    >>> known.add("0:0:0#1", "0:1:0#1", "no route")
    >>> known.is_due("0:0:0#1", "0:1:0#1")
    True
    >>> known.withdraw("0:0:0#1", "0:1:0#1")
    >>> known.is_due("0:0:0#1", "0:1:0#1")
    False
    """

    def __init__(self, present: Callable[[str], int]) -> None:
        self._present = present
        self._open: dict[tuple[str, str], str] = {}
        self._stopped: set[str] = set()

    def add(self, by: str, rank: str, why: str) -> None:
        """Record that a rank cannot reach another one."""
        self._open[by, rank] = why

    def why(self, by: str, rank: str) -> str:
        """Return why it cannot."""
        return self._open[by, rank]

    def withdraw(self, by: str, rank: str) -> None:
        """Record that it has reached it again."""
        self._open.pop((by, rank), None)

    def stopped(self, rank: str) -> None:
        """Record that a rank stands still: a signal or a debugger has stopped it."""
        self._stopped.add(rank)

    def goes_on(self, rank: str) -> list[tuple[str, str]]:
        """Record that it goes on, or has ended; return what is to be decided after a while."""
        if rank not in self._stopped:
            return []
        self._stopped.discard(rank)
        return [pair for pair in self._open if rank in {parsed(one)[0] for one in pair}]

    def is_due(self, by: str, rank: str) -> bool:
        """Tell whether it has to be decided now which of two ranks is lost."""
        names = [parsed(one) for one in (by, rank)]
        if any(number != self._present(name) for name, number in names):
            self.withdraw(by, rank)  # another one has taken the place of one of them
        is_held_up = any(name in self._stopped for name, _ in names)
        return (by, rank) in self._open and not is_held_up

    def blamed(self, by: str, rank: str) -> str:
        """Return which of two ranks cannot reach more others, or is not reached by more.

        Of two equals it is the later one.

        >>> known = Suspicions(lambda _: 1)
        >>> for one in ("0:0:1#1", "0:0:2#1"):
        ...     known.add(one, "0:0:0#1", "no route")
        >>> known.blamed("0:0:2#1", "0:0:0#1")
        '0:0:0'
        """
        others = Counter(one for pair in {frozenset(pair) for pair in self._open} for one in pair)
        worst = max((by, rank), key=lambda one: (others[one], _numbers(one)))
        return parsed(worst)[0]


def _numbers(member: str) -> list[int]:
    return [int(part) for part in parsed(member)[0].split(":")]
