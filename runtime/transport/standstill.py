"""Notices that nothing leaves an outbox any more, although something waits there."""

from __future__ import annotations

from collections.abc import Callable

from runtime.transport.outbox import Outbox
from runtime.transport.reactor import Reactor


class Standstill:
    """Looks again after so many seconds, from when it is told to watch until nothing waits.

    Without `seconds` it never comes. All is called on the reactor's thread, and so is `told`.
    """

    def __init__(
        self, reactor: Reactor, outbox: Outbox, seconds: float | None, told: Callable[[], object]
    ) -> None:
        self._reactor = reactor
        self._outbox = outbox
        self._seconds = seconds
        self._told = told
        self._left_before = 0
        self._watches = False
        self.has_come = False
        """Whether nothing left between two looks, nor since."""

    def watch(self) -> None:
        """Look from now on, if it does not look already."""
        if self._seconds is not None and not self._watches:
            self._watches = True
            self._left_before = self._outbox.sent
            self._reactor.later(self._seconds, self._look_again)

    def look(self) -> None:
        """Record that something may have left."""
        self.has_come = self.has_come and self._outbox.sent == self._left_before

    def _look_again(self) -> None:
        self._watches = False
        if not self._outbox.size:
            return
        if self._outbox.sent == self._left_before:
            self.has_come = True
            self._told()
        else:
            self.watch()
