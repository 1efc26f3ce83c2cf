"""Opening connections by whatever route there is: the shortest first, remembering what works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from runtime.lazy_import import logger
from runtime.rank_name import ClusterName, RankName
from runtime.routing import Experience, FrontEndStop, Route, RouteKind, Tension, Tensioning, routes
from runtime.topology import Grid
from runtime.transport.credentials import Credentials
from runtime.wire.dialling.connecting import LANE, PROBES, Attempt, CountingConnector, Dialling
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.forward_requests import meeting
from runtime.wire.dialling.forwarded import Forwarded, ForwardedAttempt
from runtime.wire.dialling.probing import Probe
from runtime.wire.dialling.system import SYSTEM, DiallingSystem
from runtime.wire.dialling.trying import HEAD_START, Called, Race
from runtime.wire.errors import NoRoute, PeerLost

if TYPE_CHECKING:
    from runtime.machine.contracts import CodeRoutes, Routes

_log = logger(__name__)

Peers = Callable[[int], "Routes | CodeRoutes"]
"""Returns the contract of a peer, by which it is asked to `come` or to `meet` this rank."""

Share = Callable[[list[Experience]], None]
"""Tells the other ranks of this cluster, over its front-end, what was learned here."""


class RoutedConnector(CountingConnector):
    """Chooses among the routes that the reachability of the clusters allows.

    `front_ends` says where the forwarders of clusters listen. `between` are those that a connection
    to each peer passes, as far as this end has chosen them. `tension` decides in which order routes
    are tried. `stop_of` says what front-ends call the place where a rank listens.
    """

    def __init__(
        self,
        me: int,
        directory: RankDirectory,
        credentials: Credentials,
        grid: Grid,
        *,
        front_ends: Mapping[tuple[int, int], Party],
        peers: Peers,
        share: Share,
        head_start: float = HEAD_START,
        tension: Tensioning | None = None,
        stop_of: Callable[[str], str] = str,
        system: DiallingSystem = SYSTEM,
    ) -> None:
        super().__init__(front_ends)
        self._system = system
        self._me = me
        self._directory = directory
        self._credentials = credentials
        self._grid = grid
        self._peers = peers
        self._share = share
        self._head_start = head_start
        self._tension = tension or Tension()
        self._stop_of = stop_of
        self._used: dict[int, Route] = {}
        self._races: dict[int, Race] = {}
        self._unanswered: set[str] = set()  # names of clusters

    def connect(self, peer: int, now: float) -> Attempt:
        """Begin to open a connection; raises PeerLost if there is no route at all.

        Inside a cluster there is nothing to choose.
        """
        usable = self._usable(peer)
        if usable and usable[0].kind is RouteKind.NATIVE:
            party = self._directory.party(peer)
            ways = self._directory.ways(self._me, peer)
            return Dialling(
                str(party), party.member, ways, self._credentials, now, system=self._system
            )
        if not usable:
            raise NoRoute(
                f"{self._directory.party(peer)} cannot be reached",
                cure="No front-end lies between that both clusters can connect to. Let one be "
                "reached, or add a cluster that relays",
            )
        if peer in self._used:  # it has been dialled before, so it need not be asked to dial
            usable = [one for one in usable if one.legs[0].dialler == one.stops[0]] or usable
        ordered = self._tension.order(usable, now)
        race = self._races[peer] = Race(
            self, peer, ordered, now, head_start=self._head_start, system=self._system
        )
        return race

    def again(self, peer: int, now: float) -> Attempt | None:
        """Begin to open a lane, by the route in use; None where the other end has dialled."""
        route = self._used.get(peer)
        if route is None:
            return None
        credentials = self._credentials.named(self._credentials.name + LANE)
        return self.begin(peer, route, now, credentials=credentials)

    def came(self, peer: int, now: float) -> None:
        """Learn from a connection that a peer has opened which routes to it are closed."""
        race = self._races.get(peer)
        if race is not None:
            race.overtaken(now)

    def joined(self, peer: int, *, is_dialled: bool) -> None:
        """Forget the route that this end has chosen, if a connection of the other end is used."""
        self._races.pop(peer, None)
        if not is_dialled:
            self._used.pop(peer, None)
            self.between.pop(peer, None)

    def learn(self, told: Iterable[Experience], now: float) -> list[int]:
        """Take in what other ranks of this cluster have learned of routes.

        Return the peers whose connections pass front-ends and need not any more.
        """
        news = self._tension.hear(told, now)
        return self._detours(now) if any(one.worked for one in news) else []

    def probes(self, now: float) -> list[Probe]:
        """Return what to try again of direct routes that were closed: one to each cluster."""
        found: dict[tuple[int, int], Probe] = {}
        credentials = self._credentials.named(self._credentials.name + PROBES)
        for peer, used in self._used.items():
            cluster = used.stops[-1].cluster
            for route in self._tension.shorter(self._usable(peer), used, now):
                is_tried = (
                    route.kind is RouteKind.DIRECT and route.legs[0].dialler == route.stops[0]
                )
                if cluster not in found and is_tried:
                    party, ways = self._directory.party(peer), self._directory.ways(self._me, peer)
                    found[cluster] = Probe(peer, route, party.member, ways, credentials)
        return list(found.values())

    def probed(self, probe: Probe, now: float, *, has_worked: bool) -> list[int]:
        """Take in what came of a probe; return the peers that can be reached by it from now on."""
        self.tries += 1
        self.failures += not has_worked
        (self._tension.worked if has_worked else self._tension.failed)(probe.route, now)
        if news := self._tension.news(now):
            self._share(news)
        return self._detours(now) if has_worked else []

    def _detours(self, now: float) -> list[int]:
        """Return the peers to which a shorter route than theirs is known to be open."""
        return [
            peer
            for peer, used in self._used.items()
            if any(map(self._tension.is_open, self._tension.shorter(self._usable(peer), used, now)))
        ]

    def reached(
        self, peer: int, route: Route, now: float, *, after: Iterable[tuple[Route, float]]
    ) -> None:
        """Record that a peer was reached by one route, `after` others had failed, each at a time.

        Only then is it the routes that were at fault and not the peer; so only then is it learned.
        """
        self._used[peer] = route
        self.between[peer] = tuple(map(str, route.forwarders))
        for failed, at in after:
            self._tension.failed(failed, at)
        self._tension.worked(route, now)
        if news := self._tension.news(now):
            self._share(news)

    def unanswered(self, peer: int, seconds: float) -> None:
        """Name the line to a cluster whose hosts do not answer, once, while others are tried."""
        here, there = self._directory.party(self._me), self._directory.party(peer)
        if there.cluster not in self._unanswered:
            self._unanswered.add(there.cluster)
            _log.warning(
                "the line from %s to %s is closed: nothing on it has reached %s for %g s. Other"
                " routes are tried; gcm-deploy doctor tells which ports have to be open",
                here.cluster, there.cluster, there, seconds,
            )  # fmt: skip

    def meet(self, front_end: str, token: str, now: float) -> Attempt:
        """Begin to go where a peer waits, because it cannot connect to this process.

        The peer proves itself then, as one that has dialled.

        Raises:
            PeerLost: there is no such front-end, or it cannot be reached.
        """
        place = FrontEndStop(ClusterName.parse(front_end).position)
        words = f"the front-end of {front_end}"
        return ForwardedAttempt(self._to_front_end(place, now), (meeting(token),), words)

    def begin(
        self,
        peer: int,
        route: Route,
        now: float,
        *,
        credentials: Credentials | None = None,
    ) -> Attempt:
        """Begin to open a connection by one route, with other credentials if given.

        Raises:
            PeerLost: it cannot be opened.
        """
        credentials = credentials or self._credentials
        first, last = route.legs[0], route.legs[-1]
        party = self._directory.party(peer)
        if first.dialler != route.stops[0]:
            self._peers(peer).come(self._directory.party(self._me).name)
            return Called(str(party), now, system=self._system)
        if route.kind is RouteKind.DIRECT:
            ways = self._directory.ways(self._me, peer)
            return Dialling(
                str(party),
                party.member,
                ways,
                credentials,
                now,
                over=self.over,
                in_small=self.in_small,
                system=self._system,
            )
        stops = [*map(str, route.stops[2:-1]), self._stop_of(str(route.stops[-1]))]
        if last.dialler == route.stops[-1]:
            token = self._system.random(16).hex()
            stops[-1] = meeting(token)
            self._peers(peer).meet(str(route.stops[-2]), token)
        front_end = route.stops[1]
        assert isinstance(front_end, FrontEndStop)
        way = self._to_front_end(front_end, now)
        return Forwarded(
            way, tuple(stops), str(party), party.member, credentials, system=self._system
        )

    def _to_front_end(self, front_end: FrontEndStop, now: float) -> Attempt:
        party = self.front_ends.get(front_end.cluster)
        words = f"the front-end of {front_end}"
        ways = () if party is None else self._directory.ways(self._me, party)
        if party is None or not ways:
            raise PeerLost(
                f"{words} has no address here", cure="Give it one with <front-end address=...>"
            )
        return Dialling(words, party.name, ways, self._credentials, now, system=self._system)

    def _usable(self, peer: int) -> list[Route]:
        source = RankName.parse(self._directory.party(self._me).name)
        target = RankName.parse(self._directory.party(peer).name)
        return [one for one in routes(self._grid, source, target) if self._is_usable(one)]

    def _is_usable(self, route: Route) -> bool:
        """Tell whether every front-end on the way has been heard of, and who dials can do so."""
        if any(stop.cluster not in self.front_ends for stop in route.forwarders):
            return False
        middle = route.legs[1:-1]
        inward = zip(route.stops[1:], middle, strict=False)
        return all(leg.dialler == stop for stop, leg in inward)
