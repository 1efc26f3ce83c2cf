"""Two connections joined: what one sends goes out at the other, as it comes, both ways."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress

from runtime.transport.reactor import READ, WRITE, Reactor

CHUNK = 256 << 10
"""The most bytes of one direction that are held: what bounds the memory of a forwarder."""


class Splice:
    """Joins two connected sockets until both directions have ended, or one connection breaks.

    Each time a socket is ready one chunk moves, so many splices share a reactor fairly. `gone` is
    called once, when both are closed. All methods are for the reactor's thread.
    """

    def __init__(
        self,
        reactor: Reactor,
        first: socket.socket,
        second: socket.socket,
        gone: Callable[[Splice], None],
    ) -> None:
        self._reactor = reactor
        self._gone = gone
        self._is_open = True
        self._there = _Flow(first, second)
        self._back = _Flow(second, first)
        self._sockets = (first, second)
        self._watched = [0, 0]
        for one in self._sockets:
            one.setblocking(False)
            if one.family != socket.AF_UNIX:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def moved(self) -> int:
        """How many bytes went either way."""
        return self._there.moved + self._back.moved

    def open(self, to_second: bytes = b"", to_first: bytes = b"") -> None:
        """Begin; what was received from each before goes to the other first."""
        self._there.begin(to_second)
        self._back.begin(to_first)
        self._reactor.at_close(self, self.close)
        self._move(self._there)
        self._move(self._back)

    def close(self) -> None:
        """Hang up at both ends; twice is once."""
        if not self._is_open:
            return
        self._is_open = False
        self._reactor.at_close(self, None)
        for number, one in enumerate(self._sockets):
            self._watch(number, 0)
            one.close()
        self._gone(self)

    def _ready(self, number: int, events: int) -> None:
        flows = (self._there, self._back)
        if events & WRITE:
            self._move(flows[1 - number])
        if events & READ and self._is_open:
            self._move(flows[number])

    def _move(self, flow: _Flow) -> None:
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


class _Flow:
    """One direction."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self._source = source
        self._sink = sink
        self._room = memoryview(bytearray(CHUNK))
        self._left = self._room[:0]
        self._source_ended = False
        self.has_ended = False
        self.moved = 0

    @property
    def wants_read(self) -> int:
        return 0 if self._left or self._source_ended else READ

    @property
    def wants_write(self) -> int:
        return WRITE if self._left else 0

    def begin(self, received: bytes) -> None:
        self._left = memoryview(received)
        self.moved += len(received)

    def move(self) -> None:
        """Write what is left, or read once and write that.

        A connection that breaks ends this direction alone: what the other one has received of it
        before still goes on.
        """
        if not self._left and not self._source_ended:
            try:
                count = self._source.recv_into(self._room)
            except BlockingIOError:
                return
            except OSError:
                count = 0
            self._source_ended = not count
            self._left = self._room[:count]
            self.moved += count
        if self._left:
            try:
                self._left = self._left[self._sink.send(self._left) :]
            except BlockingIOError:
                return
            except OSError:  # nobody is left to take it
                self._source_ended, self._left = True, self._room[:0]
        if self._source_ended and not self._left and not self.has_ended:
            self.has_ended = True
            with suppress(OSError):
                self._sink.shutdown(socket.SHUT_WR)
