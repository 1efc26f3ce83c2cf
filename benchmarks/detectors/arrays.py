"""The table of heartbeats as an array, for groups of many thousand members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np


class ArrayTable:
    """Does what `runtime.health.table.ListTable` does, on arrays of numpy."""

    __slots__ = ("_counts",)

    def __init__(self, members: int) -> None:
        self._counts = np.zeros(members, np.int32)

    def count(self, member: int) -> int:
        """Return the count of one member."""
        return int(self._counts[member])

    def put(self, member: int, count: int) -> None:
        """Set the count of one member, if it is higher."""
        self._counts[member] = max(self._counts[member], count)

    def merge(self, counts: Sequence[int]) -> int:
        """Take the higher count of each member; return the highest one that came."""
        told = np.asarray(counts, np.int32)
        np.maximum(self._counts, told, out=self._counts)
        return int(told.max())

    def below(self, least: int) -> Iterable[int]:
        """Return the members whose counts are lower, in order."""
        if self._counts.min() >= least:
            return ()
        return np.flatnonzero(self._counts < least).tolist()

    def counts(self) -> Sequence[int]:
        """Return a copy, fit to be sent."""
        return cast("Sequence[int]", self._counts.copy())
