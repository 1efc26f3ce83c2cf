"""All sensible routes between two processes, shortest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import pairwise

from gcm.records import dataclass
from runtime.rank_name import RankName
from runtime.routing.stops import FrontEndStop, Leg, Rank, Stop, leg, may_dial, tunnelled_leg
from runtime.topology import Grid


class RouteKind(StrEnum):
    """How a message travels."""

    NATIVE = "native"
    """By the native MPI of the cluster."""
    DIRECT = "direct"
    """Over one connection between the two processes."""
    FORWARDED = "forwarded"
    """Through one or more front-ends, which forward its bytes."""
    TUNNELLED = "tunnelled"
    """Through the front-ends of both ends, and over the launcher's ways to them, such as ssh."""


@dataclass(frozen=True, slots=True)
class Route:
    """The stops of a message in order, and the connections between them."""

    stops: tuple[Stop, ...]
    legs: tuple[Leg, ...]

    @property
    def kind(self) -> RouteKind:
        """How the message travels."""
        if not self.legs:
            return RouteKind.NATIVE
        if any(one.is_tunnelled for one in self.legs):
            return RouteKind.TUNNELLED
        return RouteKind.DIRECT if len(self.legs) == 1 else RouteKind.FORWARDED

    @property
    def forwarders(self) -> tuple[Stop, ...]:
        """The front-ends that forward it."""
        return self.stops[1:-1]

    @property
    def hops(self) -> int:
        """The number of connections; native MPI counts as one."""
        return max(1, len(self.legs))

    @property
    def length(self) -> tuple[bool, int]:
        """What makes a route shorter than another: a tunnel is longer than any number of hops."""
        return self.kind is RouteKind.TUNNELLED, self.hops

    def __str__(self) -> str:
        return self.named(str)

    def named(self, name_of: Callable[[Stop], str]) -> str:
        """Return the same with other names of the stops."""
        if not self.legs:
            return f"{name_of(self.stops[0])} -native- {name_of(self.stops[1])}"
        text = name_of(self.stops[0])
        for (before, after), one in zip(pairwise(self.stops), self.legs, strict=True):
            arrow = "=>" if one.is_tunnelled else "->" if one.dialler == before else "<-"
            text += f" {arrow} {name_of(after)}"
        return text


def routes(grid: Grid, source: RankName, target: RankName) -> list[Route]:
    """Return the routes that the reachability of the clusters allows, shortest first.

    A direct connection comes first, in both directions where either end may open it, since there
    may be an undeclared firewall. Routes through one, two and three front-ends follow: a third
    cluster, which needs no ranks, relays between two that can only connect outwards. Last comes the
    tunnel over the launcher, where both clusters have one. Raises `GridError` when one of the
    processes does not exist.

    >>> from runtime.topology import Cluster, Node, Reachability, Site
    >>> there = Cluster("b", (Node("n", ranks=1),), Reachability.OUTWARDS)
    >>> grid = Grid((Site("s", (Cluster("a", (Node("n", ranks=1),)), there)),))
    >>> print(routes(grid, RankName(0, 0, 0), RankName(0, 1, 0))[0])
    0:0:0 <- 0:1:0
    """
    grid.cluster_of(source)
    grid.cluster_of(target)
    here, there = Rank(source), Rank(target)
    if source.same_cluster(target):
        return [Route((here, there), ())]
    found = []
    for between in _ways_between(grid, here, there):
        stops: tuple[Stop, ...] = (here, *between, there)
        between_stops = [leg(grid, first, second) for first, second in pairwise(stops)]
        if all(between_stops):
            found.append(Route(stops, tuple(one for one in between_stops if one is not None)))
        if (
            not between
            and leg(grid, here, there) == Leg(here, there)
            and may_dial(grid, there, here)
        ):
            found.append(Route(stops, (Leg(there, here),)))
    mine, theirs = FrontEndStop(here.cluster), FrontEndStop(there.cluster)
    if tunnel := tunnelled_leg(grid, mine, theirs):
        legs = (Leg(here, mine), tunnel, Leg(theirs, there))
        found.append(Route((here, mine, theirs, there), legs))
    return found


def _ways_between(grid: Grid, here: Rank, there: Rank) -> Iterator[tuple[FrontEndStop, ...]]:
    """Yield which front-ends to pass, fewest first; relays in the site of either end come first."""
    mine, theirs = FrontEndStop(here.cluster), FrontEndStop(there.cluster)
    others = [
        FrontEndStop((site, number))
        for site, number, _ in grid.clusters()
        if (site, number) not in (here.cluster, there.cluster)
    ]
    sites = (here.cluster[0], there.cluster[0])
    others.sort(key=lambda one: (one.cluster[0] not in sites, one.cluster))
    yield ()
    yield (theirs,)
    yield (mine,)
    for relay in others:
        yield (relay,)
    yield (mine, theirs)
    for relay in others:
        yield (relay, theirs)
        yield (mine, relay)
    for relay in others:
        yield (mine, relay, theirs)
