"""Distinguishes communicators that some members of a parent make without asking the others."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count


class CallCounts:
    """Counts calls with equal values, so that each can be distinguished from the one before.

    All members of a group count the same calls, since MPI has them make these in the same order.
    Thread-safe.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[Hashable, ...], count[int]] = {}

    def next(self, *what: Hashable) -> int:
        """Return the number of the call with these values, counted from 1.

        >>> turns = CallCounts()
        >>> turns.next("a"), turns.next("b"), turns.next("a")
        (1, 1, 2)
        """
        return next(self._counts.setdefault(what, count(1)))
