"""Which clusters an emulated grid has, where they are, and which lines lead from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.grid.lines import Line

LAN = Line(delay=0.00017, rate=10e9)
WAN = Line(delay=0.005, rate=1e9)
NETWORK = "10.77"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A network of its own: name (also its host name), number of its site, address."""

    name: str
    site: int
    address: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A grid: the number of clusters in each site, and its lines.

    Every cluster sends to its own site over a `lan` line of its own; what goes from one site to
    another shares the one line between them, per direction: `wan`, or one of `between`.

    >>> [cluster.name + " " + cluster.address for cluster in Layout((1, 2)).clusters]
    ['c0 10.77.0.1', 'c1 10.77.1.1', 'c2 10.77.1.2']
    """

    sites: tuple[int, ...] = (2, 2)
    lan: Line = LAN
    wan: Line = WAN
    between: Mapping[tuple[int, int], Line] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.sites or not all(0 < count < 255 for count in self.sites):
            raise ValueError(f"a grid has sites with 1 to 254 clusters each, not {self.sites}")
        for pair in self.between:
            if not all(0 <= site < len(self.sites) for site in pair) or pair[0] == pair[1]:
                raise ValueError(f"there is no line between the sites {pair}")

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """All clusters in order, named c0, c1, ..."""
        places = [
            (site, number) for site, count in enumerate(self.sites) for number in range(count)
        ]
        return tuple(
            Cluster(f"c{index}", site, f"{NETWORK}.{site}.{number + 1}")
            for index, (site, number) in enumerate(places)
        )

    def line(self, first: int, second: int) -> Line:
        """Return the line from one site to another, or inside one."""
        if first == second:
            return self.lan
        found = self.between.get((first, second)) or self.between.get((second, first))
        return found or self.wan

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, for `from_dict`."""
        between = [[*pair, asdict(line)] for pair, line in self.between.items()]
        return {
            "sites": list(self.sites),
            "lan": asdict(self.lan),
            "wan": asdict(self.wan),
            "between": between,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Layout:
        """Return the layout that `as_dict` told."""
        between = {(first, second): Line(**line) for first, second, line in data["between"]}
        return cls(tuple(data["sites"]), Line(**data["lan"]), Line(**data["wan"]), between)


def hosts_file(clusters: Sequence[Cluster]) -> str:
    """Return the /etc/hosts of every cluster."""
    return "".join(
        f"{address} {name}\n"
        for address, name in [("127.0.0.1", "localhost"), *((c.address, c.name) for c in clusters)]
    )
