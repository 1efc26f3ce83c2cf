"""What a rank holds of others: the connections that it keeps, and what it took to have them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from gcm.records import dataclass
from runtime.lazy_import import LazyModule
from runtime.part_names import cluster_of
from runtime.wire.dialling.connecting import Attempt, Connector, CountingConnector
from runtime.wire.dialling.directory import RankDirectory
from runtime.wire.errors import PeerLost, WireError

if TYPE_CHECKING:
    from runtime import routing
else:
    routing = LazyModule("runtime.routing")

VARIABLE = "GCM_MOST_CONNECTIONS"
"""The environment variable that says how many connections a rank keeps at most."""

FEW = 32
"""With so few connections nobody asks how many there may be."""

_RESERVE = 128  # files that are kept free for the program, and for connections that are being made


@dataclass(frozen=True, slots=True)
class Traffic:
    """What went between this rank and one peer.

    Of the `connections` so many are `resumptions`: they took the place of one that broke. Beside
    the one in use there were at most so many `lanes` at a time, which carry parts of payloads.
    """

    sent_messages: int
    sent_bytes: int
    received_messages: int
    received_bytes: int
    connections: int
    resumptions: int = 0
    lanes: int = 0


class Keeper(Protocol):
    """What keeps the connections."""

    def connected(self) -> Mapping[int, int]:
        """Return the peers to which there is a connection, with what went over each."""

    def rest(self, peer: int) -> bool:
        """Begin to close an idle connection in agreement; return whether that began."""

    @property
    def lanes(self) -> int:
        """Return how many lanes there are, to all peers."""

    def narrow(self) -> None:
        """Do with one connection to each peer, for a while."""


class ReferenceController(Connector):
    """Opens connections as `connector` does, counts, and lets those rest that nobody uses.

    `keeper` is set once it is there. `bound` returns what decides instead of the usual cache, which
    it gets, and is asked for every connection.

    Raises:
        WireError: the environment has no number where it says how many there may be.
    """

    def __init__(
        self,
        connector: CountingConnector,
        bound: Callable[[routing.ReferenceCache], routing.ConnectionBound] | None = None,
    ) -> None:
        self.connector = connector
        self._most = _limit_of_environment()
        self._cache: routing.ConnectionBound | None = None
        self._is_always_asked = bound is not None
        self._evictions = 0
        if bound is not None:
            self._cache = bound(routing.ReferenceCache(self._limit()))
        self.keeper: Keeper | None = None
        self.misses = 0
        self._joined = 0

    def connect(self, peer: int, now: float) -> Attempt:
        """Begin to open a connection; raises PeerLost if none can be."""
        self.misses += 1
        self._make_room(more=1)
        return self.connector.connect(peer, now)

    def again(self, peer: int, now: float) -> Attempt | None:
        """Begin to open a lane; raises PeerLost if there is no room for one more connection."""
        if not self.has_room():
            raise PeerLost("there is no room for one more connection")
        return self.connector.again(peer, now)

    def has_room(self) -> bool:
        """Tell whether there may be one more lane, from either end."""
        keeper = self.keeper
        return keeper is None or len(keeper.connected()) + keeper.lanes < self._limit()

    def came(self, peer: int, now: float) -> None:
        """Record that a peer has dialled while this end tried to."""
        self.connector.came(peer, now)

    def joined(self, peer: int, *, is_dialled: bool) -> None:
        """Record that there is a connection to a peer, which this end has dialled or the other."""
        self.connector.joined(peer, is_dialled=is_dialled)
        self._joined += 1
        self._make_room(more=0)

    def passed(self, peer: int) -> tuple[str, ...] | None:
        """Return the front-ends between this rank and a peer, if it has chosen the way itself."""
        return self.connector.between.get(peer)

    def _make_room(self, *, more: int) -> None:
        keeper = self.keeper
        if keeper is None:
            return
        many = self._joined + keeper.lanes + more > (self._most or FEW)
        if not (many or self._is_always_asked):
            return
        if self._cache is None:
            self._cache = routing.ReferenceCache(self._limit())
        connected = keeper.connected()
        if keeper.lanes and len(connected) + keeper.lanes + more > self._limit():
            keeper.narrow()
        self._evictions += len(self._cache.make_room(connected, keeper.rest, more=more))

    def _limit(self) -> int:
        return self._most or _allowed()

    def figures(self, traffic: Mapping[int, Traffic]) -> dict[str, int]:
        """Return how this rank found others; see `runtime.lifecycle.outcome.Connections`."""
        sent = sum(one.sent_messages for one in traffic.values())
        return {
            "tries": self.connector.tries,
            "failures": self.connector.failures,
            "hits": max(0, sent - self.misses),
            "misses": self.misses,
            "evictions": self._evictions,
            "resumptions": sum(one.resumptions for one in traffic.values()),
            "lanes": sum(traffic[peer].lanes for peer in self.connector.between if peer in traffic),
        }

    def rows(
        self, traffic: Mapping[int, Traffic], directory: RankDirectory, *, by_rank: bool = False
    ) -> list[tuple[str, tuple[str, ...] | None, int, int, int]]:
        """Return what went to which cluster, and by which route if this end has chosen it.

        `by_rank` there is a row for each rank that got something. See
        `runtime.lifecycle.exchanged.Row`. What waits for a connection that never came went nowhere.
        """
        sums: dict[tuple[str, tuple[str, ...] | None], tuple[int, int, int]] = {}
        for peer, one in traffic.items():
            if not one.connections:
                continue
            party, between = directory.party(peer), self.connector.between.get(peer)
            if between == () and (over := self.connector.over.get(party.member)):
                between = (over,)
            name = party.name
            key = name if by_rank else cluster_of(name), between
            peers, messages, size = sums.get(key, (0, 0, 0))
            sums[key] = peers + 1, messages + one.sent_messages, size + one.sent_bytes
        return [(*key, *value) for key, value in sums.items()]


def _limit_of_environment() -> int:
    """Return how many connections the environment allows; 0 if it says nothing."""
    written = os.environ.get(VARIABLE, "")
    if written and not (written.isdecimal() and int(written)):
        raise WireError(
            f"{VARIABLE} is {written!r}, which is not a number of connections",
            cure="Set it to a whole number of at least 1, or leave it unset",
        )
    return int(written or 0)


def _allowed() -> int:
    """Return how many connections the limit of open files leaves room for."""
    import resource  # only for those with many

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 1 << 20 if most == resource.RLIM_INFINITY else most
    return max(FEW, most - max(_RESERVE, most // 8))
