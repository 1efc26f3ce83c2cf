"""Routes: which component paths are here and which are reached over which channel."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Generic, TypeVar

Way = TypeVar("Way")


class Routes(Generic[Way]):
    """A table from path prefixes to ways; the longest prefix that fits decides.

    A prefix is a path of names, so `/a/b` fits `/a/b/c` but not `/a/bc`; `/` fits every path. What
    was taken out is remembered, so that a message can say why nothing leads there any more.
    Readers need no lock: every change replaces the table, and changes come one after the other.

    >>> routes = Routes[str]()
    >>> routes.add("/", "launcher"); routes.add("/grid/site0", "here")
    >>> routes.find("/grid/site0/cluster1"), routes.find("/grid/site1")
    ('here', 'launcher')
    """

    def __init__(self) -> None:
        self._ways: dict[tuple[str, ...], Way] = {}
        self._lost: dict[tuple[str, ...], str] = {}
        self._changing = threading.Lock()

    def add(self, prefix: str, way: Way) -> None:
        """Let everything under `prefix` go over `way`."""
        key = _names(prefix)
        with self._changing:
            self._ways = {**self._ways, key: way}
            self._lost = {lost: why for lost, why in self._lost.items() if lost != key}

    def drop(self, prefix: str) -> None:
        """Take out one prefix, without a reason to remember; nothing happens without it."""
        key = _names(prefix)
        with self._changing:
            self._ways = {known: way for known, way in self._ways.items() if known != key}

    def remove(self, way: Way, why: str) -> None:
        """Take out every prefix that goes over `way`, and remember why."""
        with self._changing:
            gone = {prefix: why for prefix, known in self._ways.items() if known is way}
            # The reason first: nobody may find a shorter prefix meanwhile and go that way.
            self._lost = {**self._lost, **gone}
            self._ways = {known: one for known, one in self._ways.items() if known not in gone}

    def find(self, path: str) -> Way | None:
        """Return the way to a component, or None where nothing leads there."""
        ways = self._ways
        key = _longest(ways, path)
        if key is None or len(_longest(self._lost, path) or ()) > len(key):
            return None
        return ways[key]

    def why_lost(self, path: str) -> str:
        """Return why nothing leads to a component any more; empty if nothing ever did."""
        lost = self._lost
        key = _longest(lost, path)
        return "" if key is None else lost[key]


def _longest(table: Collection[tuple[str, ...]], path: str) -> tuple[str, ...] | None:
    names = _names(path)
    for size in range(len(names), -1, -1):
        if names[:size] in table:
            return names[:size]
    return None


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name)
