"""What the ranks of a cluster know of routes: kept by their front-end, for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runtime.engine.exchanged import Exchanged, Figures, Row
from runtime.engine.outcome import Connections
from runtime.membership.rank_link import AGAIN, FIGURES, LEARNED
from runtime.transport.reactor import Reactor

if TYPE_CHECKING:
    from runtime.engine.gate import Gate
    from runtime.routing import Experience, Tension

PATIENCE = 1.0
"""Seconds in which ranks tell their figures; of those that do not the last ones are taken."""


class SharedRoutes:
    """Lives as long as the front-end, `gate` as long as one life of its ranks.

    All methods but `connections` are for the reactor's thread.
    """

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._tension: Tension | None = None
        self._told: dict[str, tuple[list[Row], Figures]] = {}
        self._asked: dict[str, list[threading.Event]] = {}
        self.gate: Gate | None = None

    def known(self) -> list[Experience]:
        """Return what ranks that start now have to know."""
        return [] if self._tension is None else self._tension.known(time.monotonic())

    def learned(self, rank: str, told: Iterable[Experience]) -> None:
        """Pass on what a rank has learned, and let it try again later what is closed now."""
        if self._tension is None:
            from runtime.routing import Tension  # not where all routes are as they should be

            self._tension = Tension()
        news = self._tension.hear(told, time.monotonic())
        if news and self.gate is not None:
            self.gate.tell_others(rank, LEARNED, news)
        for pause in {one.pause for one in news if not one.worked}:
            self._reactor.later(pause, lambda: self._let_try(rank))

    def counted(self, rank: str, rows: list[Row], figures: Figures) -> None:
        """Take note of what a rank has sent, and of how it found others."""
        self._told[rank] = rows, figures
        for answered in self._asked.pop(rank, ()):
            answered.set()

    def connections(self, ranks: Iterable[str]) -> Connections:
        """Return how some ranks found others; any thread but the reactor's may ask."""
        names = list(ranks)
        answers = [threading.Event() for _ in names]
        self._reactor.soon(lambda: self._ask(zip(names, answers, strict=True)))
        deadline = time.monotonic() + PATIENCE
        for answered in answers:
            answered.wait(max(0.0, deadline - time.monotonic()))
        summed = Exchanged()
        for name in names:
            summed.tell(name, *self._told.get(name, ([], {})))
        return summed.connections(_Themselves())

    def _ask(self, asked: Iterable[tuple[str, threading.Event]]) -> None:
        for rank, answered in asked:
            self._asked.setdefault(rank, []).append(answered)
            if self.gate is not None:
                self.gate.tell(rank, FIGURES)

    def _let_try(self, rank: str) -> None:
        """Let the rank try again that has found a route closed, or all others once it has gone."""
        if self.gate is not None and not self.gate.tell(rank, AGAIN):
            self.gate.tell_others(rank, AGAIN)


class _Themselves(dict[str, str]):
    """Clusters by their identifiers: a front-end knows no other names of them."""

    def __missing__(self, identifier: str) -> str:
        return identifier
