"""The table of heartbeats: one count for each member, merged by maximum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol


class HeartbeatTable(Protocol):
    """What a detector asks of a table; the numbers of members are their places in the group."""

    def count(self, member: int) -> int:
        """Return the count of one member."""

    def put(self, member: int, count: int) -> None:
        """Set the count of one member, if it is higher."""

    def merge(self, counts: Sequence[int]) -> int:
        """Take the higher count of each member; return the highest one that came."""

    def below(self, least: int) -> Iterable[int]:
        """Return the members whose counts are lower, in order."""

    def counts(self) -> Sequence[int]:
        """Return a copy, fit to be sent."""


class ListTable:
    """The table for groups of up to some thousand members.

    >>> table = ListTable(3)
    >>> table.merge([4, 0, 2]), list(table.counts()), list(table.below(2))
    (4, [4, 0, 2], [1])
    """

    __slots__ = ("_counts",)

    def __init__(self, members: int) -> None:
        self._counts = [0] * members

    def count(self, member: int) -> int:
        """Return the count of one member."""
        return self._counts[member]

    def put(self, member: int, count: int) -> None:
        """Set the count of one member, if it is higher."""
        self._counts[member] = max(self._counts[member], count)

    def merge(self, counts: Sequence[int]) -> int:
        """Take the higher count of each member; return the highest one that came."""
        self._counts = list(map(max, self._counts, counts))
        return max(counts)

    def below(self, least: int) -> list[int]:
        """Return the members whose counts are lower, in order."""
        if min(self._counts) >= least:
            return []
        return [member for member, count in enumerate(self._counts) if count < least]

    def counts(self) -> list[int]:
        """Return a copy, fit to be sent."""
        return self._counts.copy()
