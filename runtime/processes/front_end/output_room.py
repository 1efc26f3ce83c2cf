"""How much output the launcher takes just now: who brings more has to wait, and so do the ranks."""

from __future__ import annotations

import threading
from collections.abc import Callable


class OutputRoom:
    """Counts bytes of output: the launcher gives room, and what is said takes it.

    What is said may take more than there is, once. `give` and `when_there` are for one thread, the
    reactor's; `wait` is for others.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._left = 0
        self._waiting: list[Callable[[], None]] = []

    @property
    def is_there(self) -> bool:
        """Whether something may be said."""
        return self._left > 0

    def take(self, size: int) -> None:
        """Record that so much was said."""
        with self._changed:
            self._left -= size

    def give(self, size: int) -> None:
        """Record that the launcher takes so much more."""
        with self._changed:
            self._left += size
            self._changed.notify_all()
        if self.is_there:
            waiting, self._waiting = self._waiting, []
            for call in waiting:
                call()

    def when_there(self, call: Callable[[], None]) -> None:
        """Call once there is room again."""
        if self.is_there:  # since a moment ago
            call()
        else:
            self._waiting.append(call)

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Return when there is room, or it is over, which `stir` makes known."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_there or is_over())

    def stir(self) -> None:
        """Let everybody who waits see whether it is over."""
        with self._changed:
            self._changed.notify_all()
