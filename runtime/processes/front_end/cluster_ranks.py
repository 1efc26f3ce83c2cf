"""The ranks of one cluster: which process has each, whether it has come, and what it has told.

Pure; each rank is one process after the other, which are known by their incarnations.
"""

from __future__ import annotations

from collections.abc import Iterator

from gcm.records import dataclass
from runtime.membership.whereabouts import RankArrival

FIRST = 1
"""The incarnation of the ranks that the native MPI of the cluster has started together."""


@dataclass(slots=True)
class RankEntry:
    """The present process of one rank."""

    name: str
    number: int
    incarnation: int = FIRST
    has_come: bool = False
    is_connected: bool = False
    arrival: RankArrival | None = None
    """What it has told when its MPI had started; None before."""

    @property
    def was_restarted(self) -> bool:
        """Whether it was started alone, in place of a lost one."""
        return self.incarnation != FIRST

    @property
    def is_ready(self) -> bool:
        """Whether its MPI has started."""
        return self.arrival is not None

    def come(self) -> None:
        """Record that it has connected."""
        self.has_come = self.is_connected = True

    def restart(self, incarnation: int) -> None:
        """Expect another process, of which nothing is known yet."""
        self.incarnation = incarnation
        self.has_come = False
        self.arrival = None


class ClusterRanks:
    """The entries of all ranks, by name and in the order of their numbers.

    >>> table = ClusterRanks("0:1", 2)
    >>> table["0:1:0"].come()
    >>> table["0:1:0"].arrival = RankArrival("here", pid=7)
    >>> table.missing, table.unheard, table.arrived
    (['0:1:1'], ['0:1:1'], ['0:1:0'])
    >>> table.at(1).name
    '0:1:1'
    """

    def __init__(self, cluster: str, ranks: int) -> None:
        self._by_number = [RankEntry(f"{cluster}:{number}", number) for number in range(ranks)]
        self._entries = {one.name: one for one in self._by_number}
        self.segments: set[str] = set()
        """The files of shared memory of all processes there were."""

    def __getitem__(self, rank: str) -> RankEntry:
        """Return the entry of a rank."""
        return self._entries[rank]

    def __iter__(self) -> Iterator[RankEntry]:
        """Yield the entries of all ranks."""
        return iter(self._by_number)

    def __len__(self) -> int:
        """Return how many ranks there are."""
        return len(self._by_number)

    def at(self, number: int) -> RankEntry:
        """Return the entry of the rank with a number."""
        return self._by_number[number]

    @property
    def names(self) -> list[str]:
        """The names of all ranks."""
        return list(self._entries)

    @property
    def arrivals(self) -> dict[str, RankArrival]:
        """What the ranks that are ready have told."""
        return {one.name: one.arrival for one in self if one.arrival is not None}

    @property
    def arrived(self) -> list[str]:
        """The ranks that are ready."""
        return [one.name for one in self if one.is_ready]

    @property
    def missing(self) -> list[str]:
        """The ranks that are not ready."""
        return [one.name for one in self if not one.is_ready]

    @property
    def unheard(self) -> list[str]:
        """The ranks that have not even connected."""
        return [one.name for one in self if not (one.is_ready or one.has_come)]
