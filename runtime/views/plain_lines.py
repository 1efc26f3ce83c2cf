"""Reports the progress of a machine line by line, for logs and pipes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from gcm.cli.output import counted
from runtime.views.facts import Fact, StateChanged
from runtime.views.picture import overview, plain
from runtime.views.progress_tree import (
    BAD,
    DONE,
    ENDED,
    GOING,
    LOST,
    PLANNED,
    QUEUED,
    READY,
    RUNNING,
    STARTING,
    UP,
    ProgressPart,
    ProgressTree,
)

MANY_CLUSTERS = 16
"""With more clusters than this only sites, the whole and failures are reported."""


SOON, MINUTE = 5.0, 60.0
"""Seconds until it is told who is awaited, and from one line to the next."""

_COMING = frozenset({PLANNED, STARTING, QUEUED})
_MOST_NAMED = 4


class News(Protocol):
    """Turns the facts of a run into lines about its machine, each of which may be empty."""

    def line_of(self, fact: Fact) -> str:
        """Take a fact, and return the line about it."""

    def due(self) -> str:
        """Return the line that it is time for."""

    def wait(self) -> float | None:
        """Return the seconds until it is time for a line; None: never."""


def told_at_once(tree: ProgressTree, fact: Fact) -> str:
    """Take a fact, and return the line if it is a loss that the run survives, or nothing.

    Among these is a cluster that never came. Of one that comes late it is told that it joins. That
    a lost rank cannot be started again, each time that somebody wants that, is no further loss.
    """
    is_known = tree.is_known(fact)
    tree.take(fact)
    cluster = tree.cluster_of(fact.name)
    if cluster is None or is_known or not tree.goes_on or not isinstance(fact.record, StateChanged):
        return ""
    state, detail = fact.record.state, fact.record.detail
    if (state, detail) == (STARTING, "ranks") and tree.rank_states().keys() & GOING:
        ranks = tree.names.numbers(cluster.identifier, 0, len(cluster.ranks))
        return f"{cluster.name}: joins, {ranks}"
    # a cluster has failed as soon as one of its ranks has, which is told of that rank
    is_shown = state == LOST or (state in BAD and fact.name != cluster.identifier)
    is_shown |= state == ENDED and bool(detail) and fact.name == cluster.identifier
    if not is_shown:
        return ""
    goes_on = "; the run goes on" if state in BAD and tree.goes_on_without(fact.name) else ""
    return _with(f"{tree.names.name(fact.name)}: {state}", detail) + goes_on


class MinuteLines:
    """Tells once a minute how far the run is, and before that, after five seconds, who is awaited.

    These are clusters `elsewhere`, by their identifiers: ssh and queues say nothing by themselves.
    A loss that the run survives is told at once: no error at its end will tell of it. So is what
    comes later.
    """

    def __init__(self, clock: Callable[[], float], elsewhere: Collection[str] = ()) -> None:
        self._tree = ProgressTree()
        self._clock = clock
        self._elsewhere = elsewhere
        self._began = clock()
        self._minute = self._began + MINUTE
        self._next = self._began + SOON if elsewhere else self._minute

    def line_of(self, fact: Fact) -> str:
        """Take a fact, and return the line about it if it cannot wait."""
        return told_at_once(self._tree, fact)

    def due(self) -> str:
        """Return how far the run is, once a minute, or after five seconds who is awaited."""
        now = self._clock()
        if now < self._next:
            return ""
        if now < self._minute:
            self._next = self._minute
            return self._awaited(now - self._began)
        self._next = self._minute = now + MINUTE
        queued = [one for one in self._tree.clusters if one.state == QUEUED]
        lines = [plain(overview(self._tree, now - self._began))]
        return "; ".join([*lines, *(f"{one.name}: {one.words}" for one in queued)])

    def wait(self) -> float:
        """Return the seconds until it is time for a line."""
        return max(0.0, self._next - self._clock())

    def _awaited(self, seconds: float) -> str:
        """Return which clusters elsewhere have not come so far, and what they do, if any."""
        away = [one for one in self._tree.clusters if one.identifier in self._elsewhere]
        late = [f"{one.name} ({one.words})" for one in away if one.state in _COMING]
        more = f" and {len(late) - _MOST_NAMED} more" if len(late) > _MOST_NAMED else ""
        return (
            f"after {seconds:.0f} s still waiting for {', '.join(late[:_MOST_NAMED])}{more}"
            if late
            else ""
        )


class PlainLines:
    """Turns each change of state into a line, or into nothing if it says little."""

    def __init__(self) -> None:
        self._tree = ProgressTree()
        self._has_shown_running = False

    def line_of(self, fact: Fact) -> str:
        """Take a fact, and return the line about it, which may be empty."""
        is_known = self._tree.is_known(fact)
        if line := told_at_once(self._tree, fact):
            return line
        if is_known or not isinstance(fact.record, StateChanged):
            return ""
        name, state, detail = fact.name, fact.record.state, fact.record.detail
        if state == RUNNING:
            return self._running()
        cluster = self._tree.cluster_of(name)
        if cluster is None:
            return self._other(name, state, detail)
        if name != cluster.identifier:
            rank = self._tree.names.name(name)
            return _with(f"{rank}: {state}", detail) if state in BAD else ""
        if state in BAD:
            return f"{cluster.name}: {cluster.words}"
        is_old = state == ENDED and not detail
        line = "" if self._is_large or is_old else _noteworthy(cluster)
        return f"{cluster.name}: {line}" if line else ""

    @property
    def _is_large(self) -> bool:
        return len(self._tree.clusters) > MANY_CLUSTERS

    def due(self) -> str:
        """Return nothing: each change is told when it comes."""
        return ""

    def wait(self) -> None:
        """Return that it is never time for a line."""

    def _running(self) -> str:
        ranks = self._tree.rank_states()
        if self._has_shown_running or ranks[RUNNING] < ranks.total() - ranks[QUEUED]:
            return ""
        self._has_shown_running = True
        clusters = sum(bool(part.ranks) for part in self._tree.clusters)
        there = f"{ranks[RUNNING]} of " if ranks[QUEUED] else ""
        return f"running: {there}{self._tree.ranks_in_words()} in {counted(clusters, 'cluster')}"

    def _other(self, name: str, state: str, detail: str) -> str:
        where = self._tree.site_of(name)
        if where is None:
            part = self._tree.others[name]
            return f"{part.name}: {part.words}"
        if state in BAD:
            return _with(f"{where}: {state}", detail)
        is_ready = self._is_large and state == UP and detail == "handshake"
        return f"{where}: {READY}" if is_ready else ""


def _noteworthy(cluster: ProgressPart) -> str:
    """Return what is worth a line: no mere beginnings, nothing that the next line says anyway."""
    match cluster.state, cluster.detail:
        case ("up", "front-end") | ("starting", "compiler"):
            return cluster.words
        case ("queued", words):
            return words
        case ("up", "ranks"):
            return f"{counted(len(cluster.ranks), 'rank')} up"
        case ("done", detail):
            return _with(DONE, detail)
        case ("ended", detail) if detail:
            return cluster.words
    return ""


def _with(text: str, detail: str) -> str:
    return f"{text}, {detail}" if detail else text
