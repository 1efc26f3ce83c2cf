"""Two joined connections: what one end sends is passed on to the other, in both directions."""

from __future__ import annotations

import socket
from collections.abc import Callable

from runtime.forwarding.flow import Flow
from runtime.forwarding.pipes import Pipes
from runtime.transport.encryption import encrypts
from runtime.transport.reactor import READ, WRITE, Reactor
from runtime.transport.transports import send_at_once


class Splice:
    """Joins two connected sockets until both directions have ended, or one connection breaks.

    Each time a socket is ready one chunk, or one pipe's content, moves, so many splices share a
    reactor fairly. Large amounts go through one of the `pipes`, unless one end encrypts. `gone` is
    called once, when both are closed. All methods are for the reactor's thread.
    """

    def __init__(
        self,
        reactor: Reactor,
        first: socket.socket,
        second: socket.socket,
        pipes: Pipes,
        gone: Callable[[Splice], None],
    ) -> None:
        self._reactor = reactor
        self._gone = gone
        self._is_open = True
        lent = None if encrypts(first) or encrypts(second) else pipes
        self._there = Flow(first, second, lent)
        self._back = Flow(second, first, lent)
        self._sockets = (first, second)
        self._watched = [0, 0]
        for one in self._sockets:
            one.setblocking(False)
            send_at_once(one)

    @property
    def moved(self) -> int:
        """How many bytes were moved, both directions together."""
        return self._there.moved + self._back.moved

    def open(self, to_second: bytes = b"", to_first: bytes = b"") -> None:
        """Begin; bytes already received from each end are delivered to the other first."""
        self._there.begin(to_second)
        self._back.begin(to_first)
        self._reactor.at_close(self, self.close)
        self._move(self._there)
        self._move(self._back)

    def close(self) -> None:
        """Close both connections; may be called twice."""
        if not self._is_open:
            return
        self._is_open = False
        self._reactor.at_close(self, None)
        for number, one in enumerate(self._sockets):
            self._watch(number, 0)
            one.close()
        for flow in (self._there, self._back):
            flow.let_go()
        self._gone(self)

    def _ready(self, number: int, events: int) -> None:
        flows = (self._there, self._back)
        if events & WRITE:
            self._move(flows[1 - number])
        if events & READ and self._is_open:
            self._move(flows[number])

    def _move(self, flow: Flow) -> None:
        if not self._is_open:
            return
        flow.move()
        if self._there.has_ended and self._back.has_ended:
            self.close()
            return
        self._watch(0, self._there.wants_read | self._back.wants_write)
        self._watch(1, self._back.wants_read | self._there.wants_write)

    def _watch(self, number: int, events: int) -> None:
        if events == self._watched[number]:
            return
        self._watched[number] = events
        descriptor = self._sockets[number].fileno()
        self._reactor.watch(descriptor, events, lambda ready: self._ready(number, ready))
