"""The component assembly that a machine implies: wrappers under clustering components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
class ExportedComponent:
    """One component and those below it.

    `identifier` is what the component stands for: `0:1:2` a rank, `0:1` a cluster, `0` a site, ""
    the grid.
    """

    name: str
    path: str
    level: Level
    identifier: str
    children: tuple[ExportedComponent, ...] = ()

    def walk(self) -> Iterator[ExportedComponent]:
        """Yield the component and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


RESERVED = frozenset(("clustering", "codes", "launcher"))
"""Names of components beside sites and clusters."""


def implied_assembly(grid: Grid) -> ExportedComponent:
    """Return the components of a machine, under the names that sites and clusters have.

    A name that is invalid for a component, or not unique, becomes `site` or `cluster` with a
    number; wrappers are called `wrapper0` and so on.
    """
    names = _names([site.name for site in grid.sites], "site")
    sites = tuple(_site(grid, number, name) for number, name in enumerate(names))
    return ExportedComponent("grid", "/grid", Level.GRID, "", sites)


def _names(given: Sequence[str], kind: str) -> list[str]:
    """Return the names of components.

    >>> _names(["north", "a.b", "north", "codes"], "site")
    ['north', 'site1', 'site2', 'site3']
    """
    names: list[str] = []
    for number, name in enumerate(given):
        is_good = name.strip() and not set(name) & set("./:") and name != "this"
        is_free = name not in names and name not in RESERVED
        names.append(name if is_good and is_free else f"{kind}{number}")
    return names


def _site(grid: Grid, number: int, name: str) -> ExportedComponent:
    path = f"/grid/{name}"
    clusters = grid.sites[number].clusters
    names = _names([cluster.name for cluster in clusters], "cluster")
    parts = tuple(
        _cluster(f"{path}/{name}", name, f"{number}:{position}", clusters[position].size)
        for position, name in enumerate(names)
    )
    return ExportedComponent(name, path, Level.SITE, str(number), parts)


def _cluster(path: str, name: str, identifier: str, size: int) -> ExportedComponent:
    wrappers = tuple(
        ExportedComponent(
            f"wrapper{rank}", f"{path}/wrapper{rank}", Level.WRAPPER, f"{identifier}:{rank}"
        )
        for rank in range(size)
    )
    return ExportedComponent(name, path, Level.CLUSTER, identifier, wrappers)
