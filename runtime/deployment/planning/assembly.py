"""The component assembly that a machine implies: wrappers under clustering components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from gcm.records import dataclass
from runtime.deployment.model import NamedClass
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
    the grid. `code` is what its ranks run and exchange messages in, "" where that is native.
    `comments` say which controllers and interceptors are named for it.
    """

    name: str
    path: str
    level: Level
    identifier: str
    children: tuple[ExportedComponent, ...] = ()
    code: str = ""
    comments: tuple[str, ...] = ()

    def walk(self) -> Iterator[ExportedComponent]:
        """Yield the component and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


NO_CODES: Mapping[str, str] = MappingProxyType({})

RESERVED = frozenset(("clustering", "codes", "launcher"))
"""Names of components beside sites and clusters."""


def implied_assembly(
    grid: Grid,
    codes: Mapping[str, str] = NO_CODES,
    named: Iterable[NamedClass] = (),
) -> ExportedComponent:
    """Return the components of a machine, under the names that sites and clusters have.

    `codes` has what clusters run whose ranks exchange messages; `named` are controllers and
    interceptors.

    A name that is invalid for a component, or not unique, becomes `site` or `cluster` with a
    number; wrappers are called `wrapper0` and so on.
    """
    found = _Implied(grid, codes, tuple(named))
    names = _names([site.name for site in grid.sites], "site")
    sites = tuple(found.site(number, name) for number, name in enumerate(names))
    return ExportedComponent("grid", "/grid", Level.GRID, "", sites, comments=found.comments(()))


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


@dataclass(frozen=True, slots=True)
class _Implied:
    grid: Grid
    codes: Mapping[str, str]
    named: tuple[NamedClass, ...]

    def comments(self, scope: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(str(one) for one in self.named if one.scope == scope)

    def site(self, number: int, name: str) -> ExportedComponent:
        path = f"/grid/{name}"
        names = _names([cluster.name for cluster in self.grid.sites[number].clusters], "cluster")
        parts = tuple(
            self.cluster(f"{path}/{name}", name, (number, place))
            for place, name in enumerate(names)
        )
        comments = self.comments((number,))
        return ExportedComponent(name, path, Level.SITE, str(number), parts, comments=comments)

    def cluster(self, path: str, name: str, position: tuple[int, int]) -> ExportedComponent:
        site, place = position
        identifier = f"{site}:{place}"
        code = self.codes.get(identifier, "")
        wrappers = tuple(
            ExportedComponent(
                f"wrapper{rank}",
                f"{path}/wrapper{rank}",
                Level.WRAPPER,
                f"{identifier}:{rank}",
                code=code,
            )
            for rank in range(self.grid.sites[site].clusters[place].size)
        )
        comments = self.comments(position)
        return ExportedComponent(name, path, Level.CLUSTER, identifier, wrappers, code, comments)
