"""Tensioning: try the shortest route, remember and share the outcome, try again later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gcm.records import dataclass
from runtime.routing.stops import FrontEndStop, Stop
from runtime.routing.ways import Route

RETRY_AFTER = 30.0
"""Seconds for which a failed route is not tried again at first; doubled each time after."""

LONGEST_PAUSE = 600.0

Place = tuple[bool, tuple[int, int]]
"""A front-end or a rank of a cluster: what holds for one rank holds for all of its cluster."""

Way = tuple[Place, ...]
"""The places of a route; a direct one that the other end has to open begins with `CALLED`."""

CALLED: Place = (False, (-1, -1))


@dataclass(frozen=True, slots=True)
class Experience:
    """The outcome of trying a route between two clusters, `age` seconds ago.

    An age, because processes on different hosts have no clock in common.
    """

    way: Way
    worked: bool
    age: float
    failures: int = 0

    @property
    def pause(self) -> float:
        """Seconds until the route can be tried again; 0 if it can be tried now."""
        return 0.0 if self.worked else max(0.0, _pause(self.failures) - self.age)


PlainExperience = tuple[Way, bool, float, int]
"""An experience as plain data, for other processes."""


def plain(experiences: Iterable[Experience]) -> list[PlainExperience]:
    """Return experiences as plain data.

    >>> told = [Experience((), worked=False, age=1.5, failures=2)]
    >>> plain(told), experiences_of(plain(told)) == told
    ([((), False, 1.5, 2)], True)
    """
    return [(one.way, one.worked, one.age, one.failures) for one in experiences]


def experiences_of(told: Iterable[PlainExperience]) -> list[Experience]:
    """Return experiences from plain data."""
    return [
        Experience(way, worked=worked, age=age, failures=failures)
        for way, worked, age, failures in told
    ]


@dataclass(frozen=True, slots=True)
class _Known:
    worked: bool
    at: float
    failures: int = 0


class Tensioning(Protocol):
    """The contract of the controller that decides by which route a rank reaches another one.

    Its class is called with the controller that it replaces. It is used where some clusters cannot
    be reached directly. Times are seconds of any clock of the process.
    """

    def order(self, routes: Sequence[Route], now: float) -> list[Route]:
        """Return the routes in the order in which to try them; given and kept shortest first."""

    def shorter(self, routes: Sequence[Route], used: Route, now: float) -> list[Route]:
        """Return the routes worth another try although messages go over `used`."""

    def is_open(self, route: Route) -> bool:
        """Return whether a route worked when anybody last tried it."""

    def worked(self, route: Route, now: float) -> None:
        """Record that a route could be opened."""

    def failed(self, route: Route, now: float) -> None:
        """Record that a route could not be opened."""

    def news(self, now: float) -> list[Experience]:
        """Return what was learned here since the last call, to be shared."""

    def hear(self, told: Iterable[Experience], now: float) -> list[Experience]:
        """Learn from others; return what was new."""


class Tension:
    """What a rank, or a front-end for all its ranks, knows of routes.

    Time is handed in, in seconds of any clock of this process.

    >>> tension = Tension()
    >>> tension.failed(direct, now=0.0)                  # doctest: +SKIP
    >>> tension.order([direct, forwarded], now=1.0)      # doctest: +SKIP
    [forwarded, direct]
    """

    def __init__(self) -> None:
        self._known: dict[Way, _Known] = {}
        self._untold: set[Way] = set()

    def order(self, routes: Sequence[Route], now: float) -> list[Route]:
        """Return the routes in the order in which to try them.

        They are given shortest first and keep that order, but for those that failed a short while
        ago: these are tried last, since things may have changed and there may be no other.
        """
        alone = [route for route in routes if self._is_left_alone(route, now)]
        return [route for route in routes if route not in alone] + alone

    def shorter(self, routes: Sequence[Route], used: Route, now: float) -> list[Route]:
        """Return the routes worth another try although messages go over `used`."""
        before = [route for route in routes if route.length < used.length]
        return [route for route in before if not self._is_left_alone(route, now)]

    def is_open(self, route: Route) -> bool:
        """Return whether a route worked when anybody last tried it."""
        known = self._known.get(_way(route))
        return known is not None and known.worked

    def worked(self, route: Route, now: float) -> None:
        """Record that a route could be opened; news only where others believe that it cannot."""
        way = _way(route)
        known = self._known.get(way)
        self._known[way] = _Known(worked=True, at=now)
        if known is not None and not known.worked:
            self._untold.add(way)

    def failed(self, route: Route, now: float) -> None:
        """Record that a route could not be opened."""
        way = _way(route)
        known = self._known.get(way)
        self._known[way] = _Known(
            worked=False, at=now, failures=1 if known is None else known.failures + 1
        )
        self._untold.add(way)

    def news(self, now: float) -> list[Experience]:
        """Return what was learned here since the last call, to be shared."""
        untold, self._untold = sorted(self._untold), set()
        return [self._experience(way, now) for way in untold]

    def experiences(self, now: float) -> list[Experience]:
        """Return all that a newcomer needs to be told."""
        return [self._experience(way, now) for way, one in self._known.items() if not one.worked]

    def hear(self, told: Iterable[Experience], now: float) -> list[Experience]:
        """Learn from others, where their knowledge is newer; return what was new.

        When all ranks of a cluster find a route closed at the same time, only one of them shares
        it.
        """
        news = []
        for one in told:
            known = self._known.get(one.way)
            at = now - one.age
            if known is not None and known.at >= at:
                continue
            self._known[one.way] = _Known(one.worked, at, one.failures)
            self._untold.discard(one.way)
            if known is None or known.worked != one.worked or known.failures < one.failures:
                news.append(one)
        return news

    def _experience(self, way: Way, now: float) -> Experience:
        known = self._known[way]
        return Experience(way, known.worked, max(0.0, now - known.at), known.failures)

    def _is_left_alone(self, route: Route, now: float) -> bool:
        known = self._known.get(_way(route))
        if known is None or known.worked:
            return False
        return now < known.at + _pause(known.failures)


def _pause(failures: int) -> float:
    return min(LONGEST_PAUSE, RETRY_AFTER * 2.0 ** (failures - 1))


def _way(route: Route) -> Way:
    places = tuple(_place(stop) for stop in route.stops)
    is_called = len(route.legs) == 1 and route.legs[0].dialler != route.stops[0]
    return (CALLED, *places) if is_called else places


def _place(stop: Stop) -> Place:
    return isinstance(stop, FrontEndStop), stop.cluster
