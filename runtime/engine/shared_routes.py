"""What the ranks of a cluster learn of routes: kept by their front-end, for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.routing import Experience, Tension


class SharedRoutes:
    """Keeps the news of all ranks, for as long as the front-end lives."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tension: Tension | None = None

    def heard(self, told: Iterable[Experience]) -> list[Experience]:
        """Take note of what a rank has learned; return what the others do not know yet."""
        if self._tension is None:
            from runtime.routing import Tension  # not where all routes are as they should be

            self._tension = Tension()
        return self._tension.hear(told, self._clock())

    def known(self) -> list[Experience]:
        """Return what ranks that start now have to know."""
        return [] if self._tension is None else self._tension.known(self._clock())
