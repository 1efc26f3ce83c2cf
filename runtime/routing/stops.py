"""The stops of a route, and which of two neighbours may open the connection between them."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.rank_name import RankName
from runtime.topology import Grid, Reachability


@dataclass(frozen=True, slots=True)
class Rank:
    """A process of the application."""

    identifier: RankName

    @property
    def cluster(self) -> tuple[int, int]:
        """Its site and cluster."""
        return self.identifier.site, self.identifier.number

    def __str__(self) -> str:
        """Return `site:cluster:rank`."""
        return str(self.identifier)


@dataclass(frozen=True, slots=True)
class FrontEndStop:
    """The front-end of a cluster, which forwards for others."""

    cluster: tuple[int, int]

    def __str__(self) -> str:
        """Return `site:cluster`."""
        return "{}:{}".format(*self.cluster)


Stop = Rank | FrontEndStop


@dataclass(frozen=True, slots=True)
class Leg:
    """The connection between two neighbouring stops of a route; `dialler` opens it.

    It `is_tunnelled` over the launcher's ways to both front-ends, where they have no other.
    """

    dialler: Stop
    listener: Stop
    is_tunnelled: bool = False


def leg(grid: Grid, first: Stop, second: Stop) -> Leg | None:
    """Return the connection between two stops, or None if neither can open it."""
    if may_dial(grid, first, second):
        return Leg(first, second)
    if may_dial(grid, second, first):
        return Leg(second, first)
    return None


def tunnelled_leg(grid: Grid, first: FrontEndStop, second: FrontEndStop) -> Leg | None:
    """Return the connection between two front-ends over the launcher, where there is no other."""
    ends = (grid.cluster_at(*first.cluster), grid.cluster_at(*second.cluster))
    if leg(grid, first, second) is None and all(one.has_tunnel for one in ends):
        return Leg(first, second, is_tunnelled=True)
    return None


def may_dial(grid: Grid, dialler: Stop, listener: Stop) -> bool:
    """Return whether a connection can be opened, as far as is known of the clusters."""
    if dialler.cluster == listener.cluster:
        return True
    return _may_leave(grid, dialler) and _lets_in(grid, listener)


def _may_leave(grid: Grid, stop: Stop) -> bool:
    reachability = _of(grid, stop)
    if isinstance(stop, FrontEndStop):
        return reachability is not Reachability.ISOLATED
    # Behind a front-end that is the only way in, ranks cannot connect outwards either.
    return reachability in (Reachability.DIRECT, Reachability.OUTWARDS)


def _lets_in(grid: Grid, stop: Stop) -> bool:
    reachability = _of(grid, stop)
    if isinstance(stop, FrontEndStop):
        return reachability in (Reachability.DIRECT, Reachability.FRONT_END)
    return reachability is Reachability.DIRECT


def _of(grid: Grid, stop: Stop) -> Reachability:
    return grid.cluster_at(*stop.cluster).reachability
