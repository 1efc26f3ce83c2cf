"""The ranks of one cluster: which process has each, on which host, and what it has told.

Pure; each rank is one process after the other, which are known by their incarnations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gcm.records import dataclass
from runtime.errors import GridError
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


_CURE = 'Name spare hosts for its cluster: <nodes hosts="..." spare="yes"/>'


class NoSpareHost(GridError):
    """The host of a rank is lost, and there is none on which it could be started again."""


class RankHosts:
    """The hosts of the ranks of a cluster, each with so many ranks, in order; then its spare ones.

    A host that is lost is not used again.

    >>> hosts = RankHosts([("a", 1), ("b", 1)], [("c", 1)])
    >>> hosts.place_again(1)
    'b'
    >>> hosts.lose("b")
    >>> hosts.place_again(1)
    'c'
    """

    def __init__(self, hosts: Iterable[tuple[str, int]], spares: Iterable[tuple[str, int]]) -> None:
        self._of = [host for host, ranks in hosts for _ in range(ranks)]
        self._spares = dict(spares)
        self._lost: dict[str, None] = {}

    def host_of(self, rank: int) -> str:
        """Return the host on which a rank was started last."""
        return self._of[rank]

    def lose(self, host: str) -> None:
        """Record that a host is lost, or that nothing can be started there."""
        self._lost[host] = None

    def place_again(self, rank: int) -> str:
        """Return the host on which a rank is started again: its own one, or the first spare one.

        Raises:
            NoSpareHost: its own one is lost, and no spare one has room.
        """
        own = self._of[rank]
        if own in self._lost:
            living = (one for one in self._spares if one not in self._lost)
            found = next((one for one in living if self._of.count(one) < self._spares[one]), "")
            if not found:
                raise NoSpareHost(self._why(own), cure=_CURE)
            self._of[rank] = found
        return self._of[rank]

    def _why(self, own: str) -> str:
        if not self._spares:
            return f"its host {own} is lost, and its cluster has no spare host"
        states = ("lost" if one in self._lost else "full" for one in self._spares)
        spares = ", ".join(f"{one} is {how}" for one, how in zip(self._spares, states, strict=True))
        return f"its host {own} is lost, and no spare host is left: {spares}"
