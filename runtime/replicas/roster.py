"""Which replicas of each rank live; the first of them is the master."""

from __future__ import annotations

from collections.abc import Sequence


class Roster:
    """The living processes of all ranks as one process knows them.

    >>> roster = Roster(2, [(0, 2), (1, 3)])
    >>> roster.rank, roster.twins, roster.remove(0), roster.twins
    (0, (0,), True, ())
    """

    def __init__(self, me: int, ranks: Sequence[Sequence[int]]) -> None:
        """Know the processes of each rank, in the order in which they become master."""
        self.me = me
        self.ranks = [tuple(processes) for processes in ranks]
        """All that have ever been replicas of each rank, in that order."""
        self.living = list(self.ranks)
        self.rank_of = {one: rank for rank, processes in enumerate(ranks) for one in processes}
        self.rank = self.rank_of[me]
        self._gone: set[int] = set()
        self.twins: tuple[int, ...] = ()
        """The other living replicas of the own rank."""
        self._find_twins()

    @property
    def master(self) -> int:
        """The master of the own rank."""
        return self.living[self.rank][0]

    def add(self, process: int, rank: int) -> bool:
        """Count a process among the replicas of a rank, as the last one; False if it is dead."""
        self.ranks[rank] += (process,)
        self.rank_of[process] = rank
        if process in self._gone:
            return False
        self.living[rank] += (process,)
        self._find_twins()
        return True

    def remove(self, process: int) -> bool:
        """Record that a process is dead; False if that is known, or it is no replica yet."""
        self._gone.add(process)
        rank = self.rank_of.get(process)
        if rank is None or process not in self.living[rank]:
            return False
        self.living[rank] = tuple(one for one in self.living[rank] if one != process)
        self._find_twins()
        return True

    def is_living(self, process: int) -> bool:
        """Tell whether a process lives as far as is known."""
        return process not in self._gone

    def is_new(self, process: int) -> bool:
        """Tell whether a process has never been a replica, and lives as far as is known."""
        return process not in self.rank_of and process not in self._gone

    def is_before(self, process: int, other: int) -> bool:
        """Tell whether one replica of the own rank is master before another one, who lives."""
        order = self.ranks[self.rank]
        return self.is_living(other) and order.index(process) < order.index(other)

    def _find_twins(self) -> None:
        self.twins = tuple(one for one in self.living[self.rank] if one != self.me)
