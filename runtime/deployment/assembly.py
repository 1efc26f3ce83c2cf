"""The component assembly that a machine implies: wrappers under clustering components."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from gcm.records import dataclass
from runtime.topology import Grid


class Level(StrEnum):
    """The levels of the hierarchy that are components."""

    WRAPPER = "L2"
    CLUSTER = "L3"
    SITE = "L4"
    GRID = "L5"


@dataclass(frozen=True, slots=True)
class Part:
    """One component and those below it.

    `identifier` is what the component stands for: `0:1:2` a rank, `0:1` a cluster, `0` a site, and
    nothing at all the grid.
    """

    name: str
    path: str
    level: Level
    identifier: str
    children: tuple[Part, ...] = ()

    def walk(self) -> Iterator[Part]:
        """Yield the component and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Link:
    """A binding from a client interface to a server interface, both as `path.interface`."""

    client: str
    server: str


def implied_assembly(grid: Grid) -> Part:
    """Return the components of a machine, named `grid`, `site0`, `cluster0`, `wrapper0`.

    Names are numbers of the level below the parent, so that a path reads like an identifier.
    """
    return Part(
        "grid",
        "/grid",
        Level.GRID,
        "",
        tuple(_site(grid, number) for number in range(len(grid.sites))),
    )


def links(part: Part) -> Iterator[Link]:
    """Yield the bindings below a component: every child's `up`, and `down` to every child."""
    for child in part.children:
        yield Link(f"{child.path}.up", f"{part.path}.srv")
        yield Link(f"{part.path}.down", f"{child.path}.srv")
        yield from links(child)


def _site(grid: Grid, number: int) -> Part:
    path = f"/grid/site{number}"
    clusters = tuple(
        _cluster(path, number, position, cluster.size)
        for position, cluster in enumerate(grid.sites[number].clusters)
    )
    return Part(f"site{number}", path, Level.SITE, str(number), clusters)


def _cluster(above: str, site: int, number: int, size: int) -> Part:
    path = f"{above}/cluster{number}"
    wrappers = tuple(
        Part(f"wrapper{rank}", f"{path}/wrapper{rank}", Level.WRAPPER, f"{site}:{number}:{rank}")
        for rank in range(size)
    )
    return Part(f"cluster{number}", path, Level.CLUSTER, f"{site}:{number}", wrappers)
