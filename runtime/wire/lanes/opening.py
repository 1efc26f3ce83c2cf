"""Opening a lane: one end dials, and both say which lane it is, before anything goes over it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.wire.dialling.connecting import Attempt
from runtime.wire.dialling.line import READ
from runtime.wire.errors import PeerLost
from runtime.wire.pending_connection import read_head, write_head
from runtime.wire.stream.frames import HEAD_SIZE, LANE, pack, unpack_from

if TYPE_CHECKING:
    from runtime.wire.dialling.connecting import PeerContext

OPENING_TIMEOUT = 10.0
"""Seconds for the other end to say which lane it is."""

Done = Callable[["Opening", "socket.socket | None", "Exception | None"], None]
"""Is told once: of the connection, or of why there is none, if this end wanted one."""


class Opening:
    """A lane in its beginnings; `deadline` is when it has to be looked after again.

    This end opens it by an `attempt`; otherwise the other end has, and the `number` that it says
    has to be one that `fits`.
    """

    def __init__(
        self,
        context: PeerContext,
        done: Done,
        *,
        number: int = -1,
        attempt: Attempt | None = None,
        fits: Callable[[int], bool] | None = None,
    ) -> None:
        self.number = number
        self._context = context
        self._done = done
        self._attempt = attempt
        self._fits = fits
        self._socket: socket.socket | None = None
        self._watched = -1
        self._received = b""
        self.deadline = context.now() if attempt is None else attempt.deadline

    def go_on(self) -> bool:
        """Do what can be done now."""
        try:
            if self._socket is None and not self._connect():
                return True
            assert self._socket is not None
            if not self._receive_number(self._socket):
                return True
            if self._fits is not None:  # this end has not spoken yet
                if not self._fits(self.number):
                    raise ConnectionError("its number cannot be that of a new lane")
                self._say_number(self._socket)
        except (OSError, EOFError, PeerLost) as fault:
            self.close()
            self._done(self, None, fault if self._fits is None else None)
            return True
        self._watch(-1, 0)
        connected, self._socket = self._socket, None
        self._done(self, connected, None)
        return True

    def close(self) -> None:
        """Give up."""
        attempt, self._attempt = self._attempt, None
        self._watch(-1, 0)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if attempt is not None:
            attempt.close()

    def _connect(self) -> bool:
        """Go on until there is a connection."""
        attempt = self._attempt
        if attempt is None:
            return False
        opened = attempt.step(self._context.now())
        if opened is None:
            self.deadline = attempt.deadline
            self._watch(attempt.fileno(), attempt.events)
            return False
        self._attempt = None
        self.use(*opened)
        self._say_number(opened[0])
        return True

    def use(self, connected: socket.socket, received: bytes) -> None:
        """Wait for what the other end says on a connection that is there."""
        connected.setblocking(False)
        self._socket = connected
        self._received = received
        self.deadline = self._context.now() + OPENING_TIMEOUT
        self._watch(connected.fileno(), READ)

    def _say_number(self, connected: socket.socket) -> None:
        write_head(connected, pack(LANE, 0, 0, self.number, 0))

    def _receive_number(self, connected: socket.socket) -> bool:
        """Read which lane it is, and no byte more; return whether that has come."""
        self._received = read_head(connected, self._received)
        if len(self._received) < HEAD_SIZE:
            if self._context.now() >= self.deadline:
                raise TimeoutError("it does not say whether it uses the lane")
            return False
        kind, _, _, number, _ = unpack_from(self._received)
        if kind != LANE or self.number not in (-1, number):
            raise ConnectionError("it does not speak of lanes")
        self.number = number
        return True

    def _watch(self, descriptor: int, events: int) -> None:
        if self._watched not in (-1, descriptor):
            self._context.watch_descriptor(self._watched, 0, None)
        self._watched = descriptor
        if descriptor != -1:
            self._context.watch_descriptor(descriptor, events, lambda _: self.go_on())
            self._context.tick_soon()
