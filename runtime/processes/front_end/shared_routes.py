"""What the ranks of a cluster know of routes: kept by their front-end, for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runtime.lifecycle.exchanged import Exchanged, Figures, Row
from runtime.lifecycle.outcome import Connections
from runtime.part_names import cluster_of
from runtime.transport.reactor import Reactor

if TYPE_CHECKING:
    from runtime.processes.front_end.gate import Gate
    from runtime.routing import Tension
    from runtime.routing.tension import PlainExperience

FIGURES_TIMEOUT = 1.0
"""Seconds in which ranks tell their figures; of those that do not the last ones are taken."""


class SharedRoutes:
    """Lives as long as the front-end, `gate` as long as one run of its ranks.

    All methods but `connections` are for the reactor's thread.
    """

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._tension: Tension | None = None
        self._exchanged: dict[str, tuple[list[Row], Figures]] = {}
        self._asked: dict[str, list[threading.Event]] = {}
        self.gate: Gate | None = None

    def experiences(self) -> list[PlainExperience]:
        """Return what ranks that start now have to know."""
        if self._tension is None:
            return []
        from runtime.routing import plain

        return plain(self._tension.experiences(time.monotonic()))

    def learned(self, rank: str, experiences: Iterable[PlainExperience]) -> None:
        """Pass on what a rank has learned, and let it try again later what is closed now."""
        from runtime.routing import Tension, experiences_of, plain  # only where routes are closed

        if self._tension is None:
            self._tension = Tension()
        news = self._tension.hear(experiences_of(experiences), time.monotonic())
        if news and self.gate is not None:
            for other in self.gate.routes_of_others(rank):
                other.news(plain(news))
        for pause in {one.pause for one in news if not one.worked}:
            self._reactor.later(pause, lambda: self._let_try(rank))

    def counted(self, rank: str, rows: list[Row], figures: Figures) -> None:
        """Take note of what a rank has sent, and of how it found others."""
        self._exchanged[rank] = rows, figures
        for answered in self._asked.pop(rank, ()):
            answered.set()

    def sample(self) -> list[Row]:
        """Return what all ranks together had sent when they were last asked, and ask them again."""
        if self.gate is not None:
            for one in self.gate.routes_of_others(""):
                one.count()
        sums: dict[tuple[str, tuple[str, ...] | None], tuple[int, int, int]] = {}
        for rows, _ in self._exchanged.values():
            for to, between, peers, messages, size in rows:
                there = cluster_of(to)
                before = sums.get((there, between), (0, 0, 0))
                sums[there, between] = before[0] + peers, before[1] + messages, before[2] + size
        return [(*key, *value) for key, value in sums.items()]

    def connections(self, ranks: Iterable[str], timeout: float = FIGURES_TIMEOUT) -> Connections:
        """Return how some ranks found others; any thread but the reactor's may ask."""
        names = list(ranks)
        answers = [threading.Event() for _ in names]
        self._reactor.soon(lambda: self._ask(zip(names, answers, strict=True)))
        deadline = time.monotonic() + timeout
        for answered in answers:
            answered.wait(max(0.0, deadline - time.monotonic()))
        summed = Exchanged()
        for name in names:
            summed.add(name, *self._exchanged.get(name, ([], {})))
        return summed.connections(_Themselves())

    def _ask(self, asked: Iterable[tuple[str, threading.Event]]) -> None:
        for rank, answered in asked:
            self._asked.setdefault(rank, []).append(answered)
            routes = None if self.gate is None else self.gate.routes(rank)
            if routes is not None:
                routes.count()

    def _let_try(self, rank: str) -> None:
        """Let the rank try again that has found a route closed, or all others once it has gone."""
        if self.gate is not None:
            itself = self.gate.routes(rank)
            for one in [itself] if itself is not None else self.gate.routes_of_others(rank):
                one.try_again()


class _Themselves(dict[str, str]):
    """Clusters by their identifiers: a front-end knows no other names of them."""

    def __missing__(self, identifier: str) -> str:
        return identifier
