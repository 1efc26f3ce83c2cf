"""Reports the progress of a machine line by line, for logs and pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gcm.cli.output import counted
from runtime.cli.screens.picture import overview, plain
from runtime.cli.screens.tree import (
    BAD,
    DONE,
    ENDED,
    LOST,
    READY,
    RUNNING,
    UP,
    ProgressPart,
    ProgressTree,
)

MANY_CLUSTERS = 16
"""With more clusters than this only sites, the whole and failures are reported."""


MINUTE = 60.0
"""Seconds in which nothing is told, and from one line to the next."""


class News(Protocol):
    """Turns changes of a machine into lines about it, each of which may be empty."""

    def told(self, path: str, state: str, detail: str = "") -> str:
        """Apply a change, and return the line about it."""
        ...

    def due(self) -> str:
        """Return the line that it is time for."""
        ...

    def wait(self) -> float | None:
        """Return the seconds until it is time for a line; None: never."""
        ...


class MinuteLines:
    """Tells nothing in the first minute, then once a minute how far the run is.

    A loss that the run survives is told at once: no error at its end will tell of it.
    """

    def __init__(
        self, tree: ProgressTree, clock: Callable[[], float], *, survives: bool = False
    ) -> None:
        self._tree = tree
        self._clock = clock
        self._began = clock()
        self._next = self._began + MINUTE
        self._survives = survives

    def told(self, path: str, state: str, detail: str = "") -> str:
        """Apply a change, and return the line about it if it is a loss that is survived."""
        self._tree.apply(path, state, detail)
        found = self._tree.cluster_of(path)
        if not (self._survives and state == LOST and found):
            return ""
        cluster, identifier = found
        return _with(f"{identifier} {cluster.name}: {state}", detail)

    def due(self) -> str:
        """Return how far the run is, once a minute."""
        now = self._clock()
        if now < self._next:
            return ""
        self._next = now + MINUTE
        return plain(overview(self._tree, now - self._began))

    def wait(self) -> float:
        """Return the seconds until the minute is over."""
        return max(0.0, self._next - self._clock())


class PlainLines:
    """Turns each change of state into a line, or into nothing if it says little."""

    def __init__(self, tree: ProgressTree) -> None:
        self._tree = tree
        self._is_large = len(tree.clusters) > MANY_CLUSTERS
        self._told_running = False

    def told(self, path: str, state: str, detail: str = "") -> str:
        """Apply a change and return the line about it, which may be empty."""
        self._tree.apply(path, state, detail)
        if state == RUNNING:
            return self._running()
        found = self._tree.cluster_of(path)
        if found is None:
            return self._other(path, state, detail)
        cluster, identifier = found
        if identifier != cluster.identifier:
            name = self._tree.names.name(identifier)
            return _with(f"{name}: {state}", detail) if state in BAD else ""
        if state in BAD:
            return f"{identifier} {cluster.name}: {cluster.words}"
        told = "" if self._is_large or state == ENDED else _told(cluster)
        return f"{identifier} {cluster.name}: {told}" if told else ""

    def due(self) -> str:
        """Return nothing: each change is told when it comes."""
        return ""

    def wait(self) -> None:
        """Return that it is never time for a line."""

    def _running(self) -> str:
        ranks = self._tree.rank_states()
        if self._told_running or ranks[RUNNING] < ranks.total():
            return ""
        self._told_running = True
        clusters = sum(bool(part.ranks) for part in self._tree.clusters)
        return f"running: {self._tree.ranks_in_words()} in {counted(clusters, 'cluster')}"

    def _other(self, path: str, state: str, detail: str) -> str:
        part = self._tree.others.get(path)
        if part is not None:
            return f"{part.name}: {part.words}"
        where = f"site {self._tree.site_names[path]}" if path in self._tree.site_names else "grid"
        if state in BAD:
            return _with(f"{where}: {state}", detail)
        is_ready = self._is_large and state == UP and detail == "handshake"
        return f"{where}: {READY}" if is_ready else ""


def _told(cluster: ProgressPart) -> str:
    """Return what is worth a line: no mere beginnings, nothing that the next line says anyway."""
    match cluster.state, cluster.detail:
        case ("up", "front-end"):
            return cluster.words
        case ("up", "ranks"):
            return f"{counted(len(cluster.ranks), 'rank')} up"
        case ("done", detail):
            return _with(DONE, detail)
    return ""


def _with(text: str, detail: str) -> str:
    return f"{text}, {detail}" if detail else text
