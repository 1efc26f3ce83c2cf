"""A greeting carried over a connection without waiting: both ends prove themselves."""

from __future__ import annotations

import socket

from runtime.transport.credentials import Greeting
from runtime.transport.encryption import certified, is_set_up, wants_to_write
from runtime.wire.dialling.line import READ, WRITE

_PIECE = 4096


class Exchange:
    """One end's part; `received` is what the other end has said already."""

    def __init__(self, connected: socket.socket, greeting: Greeting, received: bytes = b"") -> None:
        self._socket = connected
        self._received = received
        self._to_send = greeting.begin()
        self._is_set_up = False
        self.greeting = greeting

    @property
    def events(self) -> int:
        """What to watch the connection for."""
        if not self._is_set_up:
            return WRITE if wants_to_write(self._socket) else READ
        return READ | (WRITE if self._to_send else 0)

    def step(self) -> bool:
        """Go on as far as that goes; return whether the other end has proved itself.

        Raises:
            OSError: the connection is of no use.
            TransportError: the other end is no member of the run.
        """
        greeting = self.greeting
        if not self._is_set_up and not is_set_up(self._socket):
            return False
        self._is_set_up = True
        try:
            self._hear(self._received)
            while greeting.peer is None:
                received = self._socket.recv(_PIECE)
                if not received:
                    raise ConnectionError("it closed the connection in the handshake")
                self._hear(received)
        except BlockingIOError:
            return False
        return not self._to_send

    def _hear(self, received: bytes) -> None:
        if received:
            self._received = b""
            self._to_send += self.greeting.feed(received, certified(self._socket))
        if self._to_send:
            self._to_send = self._to_send[self._socket.send(self._to_send) :]
