"""Where packets go and when: lines, cuts and firewalls of a whole grid as one machine; pure."""

from __future__ import annotations

import heapq
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.grid.layout import Layout
from benchmarks.grid.lines import Line, Traffic
from benchmarks.grid.packets import destination, is_ipv4, opens_connection, size_on_line


@dataclass(frozen=True, slots=True)
class Counted:
    """What a line has carried so far."""

    line: str
    bytes: int
    dropped: int


class Switch:
    """Takes packets from clusters and hands each one out when it has arrived.

    Clusters are known by their number. The caller tells the time, in seconds that never go back.
    `dice` decide which packets get lost, where lines lose any.
    """

    def __init__(self, layout: Layout, dice: Callable[[], float] = lambda: 1.0) -> None:
        self._clusters = layout.clusters
        self._numbers = {cluster.name: n for n, cluster in enumerate(self._clusters)}
        self._by_address = {
            socket.inet_aton(cluster.address): n for n, cluster in enumerate(self._clusters)
        }
        count = range(len(layout.sites))
        self._lan = [Traffic(layout.lan, dice) for _ in self._clusters]
        self._wan = {
            (a, b): Traffic(layout.line(a, b), dice) for a in count for b in count if a != b
        }
        self._ways: list[list[Traffic | None]] = [
            [self._way(one, other) for other in range(len(self._clusters))]
            for one in range(len(self._clusters))
        ]
        self._open_ports: dict[int, frozenset[int]] = {}
        self._under_way: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self.refused = 0

    def _way(self, source: int, target: int) -> Traffic | None:
        if source == target:
            return None
        sites = self._clusters[source].site, self._clusters[target].site
        return self._lan[source] if sites[0] == sites[1] else self._wan[sites]

    def take(self, source: int, packet: bytes, now: float) -> None:
        """Send a packet on its way, or drop it where a real network would."""
        if not is_ipv4(packet):
            return
        target = self._by_address.get(destination(packet))
        if target is None:
            return
        way = self._ways[source][target]
        if way is None:
            return
        if target in self._open_ports and self._is_refused(target, packet):
            self.refused += 1
            return
        arrival = way.admit(now, size_on_line(packet))
        if arrival is not None:
            self._count += 1
            heapq.heappush(self._under_way, (arrival, self._count, target, packet))

    def _is_refused(self, target: int, packet: bytes) -> bool:
        port = opens_connection(packet)
        return port is not None and port not in self._open_ports[target]

    def arrived(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Hand out what has arrived by now, with the number of its cluster."""
        waiting = self._under_way
        while waiting and waiting[0][0] <= now:
            _, _, target, packet = heapq.heappop(waiting)
            yield target, packet

    @property
    def next_arrival(self) -> float | None:
        """When the next packet arrives, if one is under way."""
        return self._under_way[0][0] if self._under_way else None

    def cut(self, source: str, target: str) -> None:
        """Lose whatever `source` sends to `target` from now on; what is under way still arrives."""
        self._ways[self._number(source)][self._number(target)] = None

    def heal(self, source: str, target: str) -> None:
        """Take back a cut."""
        one, other = self._number(source), self._number(target)
        self._ways[one][other] = self._way(one, other)

    def protect(self, cluster: str, open_ports: Iterable[int]) -> None:
        """Let nobody outside open a connection to a cluster, except to these ports of it."""
        self._open_ports[self._number(cluster)] = frozenset(open_ports)

    def open(self, cluster: str) -> None:
        """Take the firewall of a cluster away."""
        self._open_ports.pop(self._number(cluster), None)

    def change_lan(self, line: Line) -> None:
        """Give all sites other lines inside."""
        for traffic in self._lan:
            traffic.change(line)

    def change_wan(self, line: Line) -> None:
        """Give all pairs of sites other lines."""
        for traffic in self._wan.values():
            traffic.change(line)

    def counted(self) -> list[Counted]:
        """Return what each line has carried: of each cluster to its site, then between sites."""
        inside = zip((f"{one.name} to its site" for one in self._clusters), self._lan, strict=True)
        between = ((f"site {a} to site {b}", way) for (a, b), way in self._wan.items())
        return [
            Counted(name, traffic.bytes, traffic.dropped) for name, traffic in (*inside, *between)
        ]

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            raise ValueError(f"there is no cluster '{name}'; there are {', '.join(self._numbers)}")
        return self._numbers[name]
