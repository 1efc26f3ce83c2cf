"""What tells apart communicators that only some members of their parent make, and ask nobody."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count


class Turns:
    """Counts calls with equal values, so that each of them can be told from the one before.

    All members of a group count the same calls: MPI has them make these in the same order. Threads
    may count at once.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[Hashable, ...], count[int]] = {}

    def next(self, *what: Hashable) -> int:
        """Return how many calls there have been with these values; the first is number 1.

        >>> turns = Turns()
        >>> turns.next("a"), turns.next("b"), turns.next("a")
        (1, 1, 2)
        """
        return next(self._counts.setdefault(what, count(1)))
