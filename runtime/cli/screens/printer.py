"""The one thread that writes: output of the application and news of the run, in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from runtime.views.facts import Fact, OutputWritten
from runtime.views.stream import nothing

PLENTY = 1 << 20
"""The most bytes of output that are held back, however long a screen would like to gather."""


class Screen(Protocol):
    """Shows facts; its methods are only called from the printer's thread."""

    @property
    def pause(self) -> float:
        """How many seconds to gather facts before they are shown together."""

    @property
    def refresh_interval(self) -> float | None:
        """Seconds without facts after which it wants to be called with none."""

    def show(self, facts: Sequence[Fact]) -> None:
        """Show some facts, in this order."""

    def close(self) -> None:
        """Show the last of it and restore the terminal."""


class Printer:
    """Takes facts from any thread and hands them to a screen from a thread of its own.

    Nothing that was heard is lost: `close` returns once all of it has been shown. An error of the
    screen goes to `failed`, and from then on facts are dropped.
    """

    def __init__(self, screen: Screen, failed: Callable[[Exception], None]) -> None:
        self._screen = screen
        self._failed = failed
        self._changed = threading.Condition()
        self._waiting: deque[_Heard] = deque()
        self._size = 0
        self._closing = False
        self._broken = False
        self._thread = threading.Thread(target=self._work, name="gcm-deploy output", daemon=True)
        self._thread.start()

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Show a fact soon, without blocking; may be called from a signal handler."""
        with self._changed:
            if not self._broken:
                self._waiting.append((fact, taken))
                self._size += _size(fact)
                self._changed.notify_all()
                return
        taken()

    def close(self) -> None:
        """Wait until everything has been shown and the screen is closed."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        try:
            try:
                self._show_all()
            finally:
                self._screen.close()
        except Exception as error:  # a full disk, or a reader that left: the run has to know
            self._give_up(error)

    def _show_all(self) -> None:
        while (heard := self._next()) is not None:
            try:
                self._screen.show([fact for fact, _ in heard])
            finally:
                for _, taken in heard:
                    taken()
            if self._screen.pause:
                self._gather()

    def _next(self) -> list[_Heard] | None:
        """Wait for facts and return all; None at the end, an empty list if none came in time."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._waiting or self._closing, self._screen.refresh_interval
            )
            if self._closing and not self._waiting:
                return None
            heard = list(self._waiting)
            self._waiting.clear()
            self._size = 0
            return heard

    def _gather(self) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._closing or self._size >= PLENTY, self._screen.pause
            )

    def _give_up(self, error: Exception) -> None:
        with self._changed:
            self._broken = True
            dropped = list(self._waiting)
            self._waiting.clear()
        for _, taken in dropped:
            taken()
        self._failed(error)


_Heard = tuple[Fact, Callable[[], None]]


def _size(fact: Fact) -> int:
    return len(fact.record.data) if isinstance(fact.record, OutputWritten) else 0
