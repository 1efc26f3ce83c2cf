"""Who opens the connections between clusters, for each two kinds of clusters in a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement, pairwise

from gcm.records import dataclass
from runtime.rank_name import RankName
from runtime.routing.stops import FrontEndStop, Rank, Stop
from runtime.routing.ways import Route, routes
from runtime.topology import Cluster, Grid, Reachability, Site

Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Way:
    """The shortest route from ranks of some clusters to those of others, in words.

    `words` is empty where there is none: no two such clusters, or none that reach each other.
    """

    source: Reachability
    target: Reachability
    words: str


def clusters_by_reachability(grid: Grid) -> dict[Reachability, list[Position]]:
    """Group the clusters that have ranks by their reachability."""
    found: dict[Reachability, list[Position]] = {}
    for site, number, cluster in grid.clusters():
        if cluster.size:
            found.setdefault(cluster.reachability, []).append((site, number))
    return found


def ways(grid: Grid) -> list[Way]:
    """Return the shortest route between each two kinds of clusters, in both directions.

    >>> from runtime.topology import Cluster, Node, Site
    >>> there = Cluster("b", (Node("n", ranks=1),), Reachability.OUTWARDS)
    >>> grid = Grid((Site("s", (Cluster("a", (Node("n", ranks=1),)), there)),))
    >>> [way.words for way in ways(grid)]
    ['', 'rank ← rank', 'rank → rank', '']
    """
    kinds = clusters_by_reachability(grid)
    return [
        Way(source, target, _between(grid, kinds[source], kinds[target]))
        for source in kinds
        for target in kinds
    ]


def without_way(grid: Grid, among: Iterable[Position]) -> list[Position]:
    """Return those of the clusters `among` whose ranks no route joins with each other.

    Clusters of one reachability are alike here, so one pair of each two kinds is looked at.

    >>> from runtime.topology import Cluster, Node, Site
    >>> hidden = Cluster("c", (Node("n", ranks=1),), Reachability.OUTWARDS)
    >>> without_way(Grid((Site("s", (hidden, hidden)),)), [(0, 0), (0, 1)])
    [(0, 0), (0, 1)]
    """
    apart = next(_apart(grid, among), [])
    return sorted(set(apart))


def with_tunnels(grid: Grid, among: Iterable[Position], able: Iterable[Position]) -> Grid:
    """Return the grid with tunnels at those of the clusters `among` that need one.

    A cluster needs one if no route joins its ranks with those of another one, and gets it if it is
    `able` to have one.

    >>> from runtime.topology import Cluster, Node, Site
    >>> hidden = Cluster("c", (Node("n", ranks=1),), Reachability.OUTWARDS)
    >>> both = [(0, 0), (0, 1)]
    >>> grid = with_tunnels(Grid((Site("s", (hidden, hidden)),)), both, both)
    >>> print(routes(grid, RankName(0, 0, 0), RankName(0, 1, 0))[0])
    0:0:0 -> 0:0 => 0:1 -> 0:1:0
    """
    needed = {one for apart in _apart(grid, among) for one in apart} & set(able)
    sites = []
    for number, site in enumerate(grid.sites):
        clusters = (
            Cluster(one.name, one.nodes, one.reachability, (number, at) in needed)
            for at, one in enumerate(site.clusters)
        )
        sites.append(Site(site.name, tuple(clusters)))
    return Grid(tuple(sites)) if needed else grid


def _apart(grid: Grid, among: Iterable[Position]) -> Iterator[list[Position]]:
    """Yield the clusters of each two kinds whose ranks no route joins."""
    kinds: dict[tuple[Reachability, bool], list[Position]] = {}
    for position in among:
        cluster = grid.cluster_at(*position)
        kinds.setdefault((cluster.reachability, cluster.has_tunnel), []).append(position)
    for first, second in combinations_with_replacement(kinds.values(), 2):
        here, there = first[0], second[-1]
        if here != there and not routes(grid, RankName(*here, 0), RankName(*there, 0)):
            yield [*first, *second]


def _between(grid: Grid, sources: list[Position], targets: list[Position]) -> str:
    pair = next(((one, two) for one in sources for two in targets if one != two), None)
    if pair is None:
        return ""
    here, there = (RankName(*position, 0) for position in pair)
    found = routes(grid, here, there)
    return _words(found[0], *pair) if found else "no way"


def _words(route: Route, here: Position, there: Position) -> str:
    """Return the stops of a route with an arrow from the dialling to the listening end."""
    words = _stop(route.stops[0], here, there)
    for (before, after), leg in zip(pairwise(route.stops), route.legs, strict=True):
        arrow = "⇒" if leg.is_tunnelled else "→" if leg.dialler == before else "←"
        words += f" {arrow} {_stop(after, here, there)}"
    return words


def _stop(stop: Stop, here: Position, there: Position) -> str:
    if isinstance(stop, Rank):
        return "rank"
    assert isinstance(stop, FrontEndStop)
    owner = "its" if stop.cluster == here else "their" if stop.cluster == there else "a third"
    return f"{owner} front-end"
