"""Going where peers wait that cannot be reached: at a front-end between."""

from __future__ import annotations

import socket
from collections.abc import Callable

from runtime.lazy_import import logger
from runtime.transport.admission import EventLoop
from runtime.wire.dialling.connecting import Attempt
from runtime.wire.errors import PeerLost

_log = logger(__name__)


class Meetings:
    """Ways to meetings that are being made; `met` gets each connection, and what came behind."""

    def __init__(
        self,
        met: Callable[[socket.socket, bytes], None],
        loop: EventLoop,
    ) -> None:
        self._met = met
        self._loop = loop
        self._coming: set[Attempt] = set()

    @property
    def deadline(self) -> float | None:
        """When `tick` has to be called."""
        return min((attempt.deadline for attempt in self._coming), default=None)

    def come(self, attempt: Attempt) -> None:
        """Go on with this way until it is made or cannot be."""
        self._coming.add(attempt)
        self._go_on(attempt)

    def tick(self, now: float) -> None:
        """See to what takes too long."""
        for attempt in [one for one in self._coming if one.deadline <= now]:
            self._go_on(attempt)

    def close(self) -> None:
        """Give all up."""
        for attempt in self._coming:
            attempt.close()

    def _go_on(self, attempt: Attempt) -> bool:
        """Go on with a way to a meeting; what fails is noticed by those who wait there."""
        descriptor = attempt.fileno()
        try:
            opened = attempt.step(self._loop.now())
        except PeerLost as fault:
            _log.info("a connection over a third front-end failed: %s", fault)
            self._leave(attempt, descriptor)
            return True
        if opened is None:
            if attempt.fileno() != descriptor:
                self._loop.watch_descriptor(descriptor, 0, None)
            self._loop.watch_descriptor(
                attempt.fileno(), attempt.events, lambda _: self._go_on(attempt)
            )
            self._loop.tick_soon()
            return True
        self._leave(attempt, descriptor)
        self._met(*opened)
        return True

    def _leave(self, attempt: Attempt, descriptor: int) -> None:
        self._coming.discard(attempt)
        self._loop.watch_descriptor(descriptor, 0, None)
