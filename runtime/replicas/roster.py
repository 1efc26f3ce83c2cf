"""Which replicas of each rank live; the first of them is the master."""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
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
        self.living = [tuple(processes) for processes in ranks]
        self.rank_of = {one: rank for rank, processes in enumerate(ranks) for one in processes}
        self.rank = self.rank_of[me]
        self._order = list(ranks[self.rank])
        self.twins: tuple[int, ...] = ()
        """The other living replicas of the own rank."""
        self._find_twins()

    @property
    def master(self) -> int:
        """The master of the own rank."""
        return self.living[self.rank][0]

    def remove(self, process: int) -> bool:
        """Record that a process is dead; False if that is known."""
        rank = self.rank_of[process]
        if not self.is_living(process):
            return False
        self.living[rank] = tuple(one for one in self.living[rank] if one != process)
        self._find_twins()
        return True

    def is_living(self, process: int) -> bool:
        """Tell whether a process lives as far as is known."""
        return process in self.living[self.rank_of[process]]

    def is_before(self, process: int, other: int) -> bool:
        """Tell whether one replica of the own rank is master before another one, who lives."""
        return self.is_living(other) and self._order.index(process) < self._order.index(other)

    def _find_twins(self) -> None:
        self.twins = tuple(one for one in self.living[self.rank] if one != self.me)
