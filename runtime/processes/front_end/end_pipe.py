"""What the parents of ranks on this host tell about their ends comes through a pipe in the room."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from runtime.launchers.ranks import ENDS
from runtime.transport.reactor import READ, Reactor

Saw = Callable[[int, int, float, int], None]

_CHUNK = 4096


class EndPipe:
    """The pipe of one job. `saw` gets rank, wait status, time and incarnation, as they end."""

    def __init__(self, reactor: Reactor, room: str, saw: Saw) -> None:
        """Make it; raises OSError. It is there before any rank is."""
        self._reactor = reactor
        self._saw = saw
        self._path = os.path.join(room, ENDS)
        os.mkfifo(self._path, 0o600)
        # Open for writing too, so that it is not at its end before anybody has come.
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""
        reactor.soon(self._watch)

    def read(self) -> None:
        """Pass on what has been told until now; on the reactor's thread."""
        while self._is_open():
            try:
                data = os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                with suppress(ValueError):  # the writer was no parent of a rank
                    rank, status, at, incarnation = line.split()
                    self._saw(int(rank), int(status), float(at), int(incarnation))

    def close(self) -> None:
        """Listen no more, and remove it; twice is once. On the reactor's thread."""
        if self._is_open():
            self._reactor.watch(self._descriptor, 0, lambda _: None)
            os.close(self._descriptor)
            self._descriptor = -1
            with suppress(OSError):
                os.unlink(self._path)

    def _watch(self) -> None:
        if self._is_open():
            self._reactor.watch(self._descriptor, READ, self._ready)

    def _is_open(self) -> bool:
        return self._descriptor >= 0

    def _ready(self, _events: int) -> None:
        self.read()
