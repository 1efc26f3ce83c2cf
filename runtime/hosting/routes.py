"""Routes: which component paths are here and which are reached over which channel."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Generic, TypeVar

from gcm.records import dataclass

Way = TypeVar("Way")
T = TypeVar("T")

MOST_REMEMBERED = 10_000

ONLY = "."
"""The last name of a prefix that only one path has; no component can be called that."""


class RoutingTable(Generic[Way]):
    """A table from path prefixes to ways; the longest prefix that fits decides.

    A prefix is a path of names, so `/a/b` fits `/a/b/c` but not `/a/bc`; `/` fits every path. What
    was taken out is remembered, so that a message can say why nothing leads there any more.
    Readers need no lock: every change replaces the table, and changes come one after the other.

    >>> routes = RoutingTable[str]()
    >>> routes.add("/", "launcher"); routes.add("/grid/site0", "here")
    >>> routes.find("/grid/site0/cluster1"), routes.find("/grid/site1")
    ('here', 'launcher')
    """

    def __init__(self) -> None:
        self._table = _Table[Way]({}, {})
        self._changing = threading.Lock()

    def add(self, prefix: str, way: Way) -> None:
        """Let everything under `prefix` go over `way`."""
        key = _names(prefix)
        with self._changing:
            ways, lost = self._table.ways, self._table.lost
            self._table = _Table({**ways, key: way}, _without(lost, (key,)))

    def drop(self, prefix: str) -> None:
        """Take out one prefix, without a reason to remember; nothing happens without it."""
        with self._changing:
            ways, lost = self._table.ways, self._table.lost
            self._table = _Table(_without(ways, (_names(prefix),)), lost)

    def remove(self, way: Way, why: str) -> None:
        """Take out every prefix that goes over `way`, and remember why."""
        with self._changing:
            ways, lost = self._table.ways, self._table.lost
            gone = {prefix: why for prefix, known in ways.items() if known is way}
            self._table = _Table(_without(ways, gone), {**lost, **gone})

    def find(self, path: str) -> Way | None:
        """Return the way to a component, or None where nothing leads there."""
        table = self._table
        try:
            return table.found[path]
        except KeyError:
            way = table.find(path)
        if len(table.found) < MOST_REMEMBERED:
            table.found[path] = way
        return way

    def why_lost(self, path: str) -> str:
        """Return why nothing leads to a component any more; empty if nothing ever did."""
        lost = self._table.lost
        key = _longest(lost, path)
        return "" if key is None else lost[key]


@dataclass(frozen=True, slots=True)
class _Table(Generic[Way]):
    """The ways there are, and why others are lost: replaced as a whole, so that they agree.

    `found` remembers what was looked for.
    """

    ways: Mapping[tuple[str, ...], Way]
    lost: Mapping[tuple[str, ...], str]
    found: dict[str, Way | None] = field(default_factory=dict)

    def find(self, path: str) -> Way | None:
        """Return the way to a component, or None where nothing leads there."""
        key = _longest(self.ways, path)
        if key is None or len(_longest(self.lost, path) or ()) > len(key):
            return None
        return self.ways[key]


def _without(
    table: Mapping[tuple[str, ...], T], keys: Collection[tuple[str, ...]]
) -> dict[tuple[str, ...], T]:
    return {known: one for known, one in table.items() if known not in keys}


def _longest(table: Collection[tuple[str, ...]], path: str) -> tuple[str, ...] | None:
    names = (*_names(path), ONLY)
    for size in range(len(names), -1, -1):
        if names[:size] in table:
            return names[:size]
    return None


def only(path: str) -> str:
    """Return the prefix of `path` alone, without what is inside the component there."""
    return f"{path}/{ONLY}"


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name)
