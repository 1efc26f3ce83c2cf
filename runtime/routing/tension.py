"""Tensioning: try the shortest route, remember what came of it, try again later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gcm.records import dataclass
from runtime.routing.stops import FrontEnd, Stop
from runtime.routing.ways import Route

RETRY_AFTER = 30.0
"""How many seconds a route that failed is left alone, at first."""

LONGEST_PAUSE = 600.0

Place = tuple[bool, tuple[int, int]]
"""A front-end or a rank of a cluster: what holds for one rank holds for all of its cluster."""

Way = tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Experience:
    """What came of trying a route between two clusters, to be told to others of the cluster."""

    way: Way
    worked: bool
    at: float
    failures: int = 0


class Tension:
    """What one process knows of routes. Time is handed in, in seconds of a clock that all share.

    >>> tension = Tension()
    >>> tension.failed(direct, now=0.0)                  # doctest: +SKIP
    >>> tension.order([direct, forwarded], now=1.0)      # doctest: +SKIP
    [forwarded, direct]
    """

    def __init__(self) -> None:
        self._known: dict[Way, Experience] = {}
        self._news: dict[Way, Experience] = {}
        self.tries = 0
        self.failures = 0

    def order(self, routes: Sequence[Route], now: float) -> list[Route]:
        """Return the routes in the order in which to try them.

        They come with the shortest first, and stay so, but for those that failed a short while ago:
        these come last, since something may have changed and there may be no other.
        """
        alone = [route for route in routes if self._is_left_alone(route, now)]
        return [route for route in routes if route not in alone] + alone

    def shorter(self, routes: Sequence[Route], used: Route, now: float) -> list[Route]:
        """Return the routes worth another try although messages go over `used`."""
        before = [route for route in routes if route.hops < used.hops]
        return [route for route in before if not self._is_left_alone(route, now)]

    def worked(self, route: Route, now: float) -> None:
        """Remember that a route could be opened."""
        self.tries += 1
        self._learn(Experience(_way(route), worked=True, at=now))

    def failed(self, route: Route, now: float) -> None:
        """Remember that a route could not be opened, or that it broke."""
        self.tries += 1
        self.failures += 1
        way = _way(route)
        known = self._known.get(way)
        failures = known.failures + 1 if known is not None and not known.worked else 1
        self._learn(Experience(way, worked=False, at=now, failures=failures))

    def news(self) -> list[Experience]:
        """Return what was learned here since this was last asked, to be told to others."""
        news, self._news = list(self._news.values()), {}
        return news

    def hear(self, told: Iterable[Experience]) -> None:
        """Learn from others; what is newer counts."""
        for experience in told:
            known = self._known.get(experience.way)
            if known is None or known.at < experience.at:
                self._known[experience.way] = experience

    def _learn(self, experience: Experience) -> None:
        known = self._known.get(experience.way)
        self._known[experience.way] = experience
        if known is None or known.worked != experience.worked or not experience.worked:
            self._news[experience.way] = experience

    def _is_left_alone(self, route: Route, now: float) -> bool:
        known = self._known.get(_way(route))
        if known is None or known.worked:
            return False
        pause = min(LONGEST_PAUSE, RETRY_AFTER * 2.0 ** (known.failures - 1))
        return now < known.at + pause


def _way(route: Route) -> Way:
    return tuple(_place(stop) for stop in route.stops)


def _place(stop: Stop) -> Place:
    return isinstance(stop, FrontEnd), stop.cluster
