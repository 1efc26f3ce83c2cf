"""What ranks sent to each other, but natively, and how they found each other, added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from runtime.lifecycle.outcome import Connections, RouteTraffic, Ways
from runtime.part_names import cluster_of, numbers_of

Row = tuple[str, tuple[str, ...] | None, int, int, int]
"""The receiver or the cluster of receivers, the front-ends between if the sender knows them, or a
direct connection's transport of the user, the number of receivers, messages, bytes."""

Figures = Mapping[str, int]
"""What `Connections` counts, of one rank."""

_DIRECT: tuple[str, ...] = ()


class Exchanged:
    """Adds up what the senders tell when they end."""

    def __init__(self) -> None:
        self._ways: dict[tuple[str, str], dict[tuple[str, ...], int]] = {}
        self._sent: dict[tuple[str, str], tuple[int, int]] = {}
        self._figures: dict[str, int] = {}

    def add(self, sender: str, rows: Iterable[Row], figures: Figures) -> None:
        """Take note of what a rank, `site:cluster:rank`, has sent to which clusters."""
        here = cluster_of(sender)
        for to, between, peers, messages, size in rows:
            there = cluster_of(to)
            first, second = sorted((here, there), key=numbers_of)
            ways = self._ways.setdefault((first, second), {})
            if between is not None:
                way = between if here == first else between[::-1]
                ways[way] = ways.get(way, 0) + peers
            before = self._sent.get((here, there), (0, 0))
            self._sent[here, there] = before[0] + messages, before[1] + size
        for name, count in figures.items():
            self._figures[name] = self._figures.get(name, 0) + count

    def traffic(self, paths: Mapping[str, str]) -> Iterator[RouteTraffic]:
        """Yield a line for each pair of clusters whose ranks spoke; `paths` are their names.

        One cluster is a pair, too, whose ranks send in one direction.
        """
        for (first, second), ways in sorted(self._ways.items(), key=lambda one: one[0]):
            there = self._sent.get((first, second), (0, 0))
            if first == second:
                if there[0]:
                    yield RouteTraffic(f"ranks within {paths[first]}", there[0], there[1], 0)
                continue
            back = self._sent.get((second, first), (0, 0))
            if there[0] + back[0]:
                how = " and ".join(
                    route_words(way, paths.__getitem__) for way in sorted(ways or [_DIRECT])
                )
                route = f"ranks of {paths[first]} - {paths[second]}, {how}"
                yield RouteTraffic(route, there[0] + back[0], there[1], back[1])

    def connections(self, paths: Mapping[str, str]) -> Connections:
        """Return how the ranks of clusters found each other."""
        ways = (
            Ways(
                (paths[first], paths[second]),
                {route_words(way, paths.__getitem__): n for way, n in found.items()},
            )
            for (first, second), found in sorted(self._ways.items())
            if found and first != second
        )
        return Connections(ways=tuple(ways), relays=(), tunnels=(), **self._figures)


def is_transport(between: tuple[str, ...]) -> bool:
    """Tell whether between two ranks is a transport of the user, and no front-end."""
    return len(between) == 1 and ":" not in between[0]


def route_words(between: tuple[str, ...], name_of: Callable[[str], str]) -> str:
    """Return how a route is called: what is between is front-ends, or a transport of the user.

    >>> route_words((), str), route_words(("0:0",), {"0:0": "lyon/rhone"}.__getitem__)
    ('direct', 'through lyon/rhone')
    >>> route_words(("lab.Bonded",), str)
    'direct over lab.Bonded'
    """
    if is_transport(between):
        return f"direct over {between[0]}"
    return f"through {', '.join(map(name_of, between))}" if between else "direct"
