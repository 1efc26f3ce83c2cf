"""On which host each rank of a cluster is, and on which one it is started again."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.errors import GridError

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
        told = ", ".join(f"{one} is {how}" for one, how in zip(self._spares, states, strict=True))
        return f"its host {own} is lost, and no spare host is left: {told}"
