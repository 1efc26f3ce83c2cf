"""One direction of two joined connections: what comes out of a source goes into a sink.

Little is copied. Where much moves, a pipe carries it: the system then hands its own memory from one
socket to the other, which takes a third of the time.
"""

from __future__ import annotations

import errno
import socket
from contextlib import suppress

from runtime.forwarding.pipes import Pipe, Pipes
from runtime.transport.reactor import READ, WRITE

CHUNK = 256 << 10
"""The most bytes that are held as a copy: what bounds the memory of a forwarder."""

MUCH = 1 << 20
"""After so many bytes a direction goes through pipes: those with little to say need none."""

_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.EPERM}
"""How a system says that it does not do this, or not here."""


class Flow:
    """One direction. It holds what the sink did not take yet: a chunk at most, or a pipe's fill."""

    def __init__(self, source: socket.socket, sink: socket.socket, pipes: Pipes | None) -> None:
        self._source = source
        self._sink = sink
        self._pipes = pipes
        self._pipe: Pipe | None = None  # one that holds something
        self._room = memoryview(bytearray(CHUNK))
        self._left = self._room[:0]
        self._source_ended = False
        self.has_ended = False
        self.moved = 0

    @property
    def wants_read(self) -> int:
        """The event to wait for at the source, if any."""
        return 0 if self._holds or self._source_ended else READ

    @property
    def wants_write(self) -> int:
        """The event to wait for at the sink, if any."""
        return WRITE if self._holds else 0

    @property
    def _holds(self) -> bool:
        return bool(self._left) or self._pipe is not None

    def begin(self, received: bytes) -> None:
        """Hold what came before the connections were joined."""
        self._left = memoryview(received)
        self.moved += len(received)

    def move(self) -> None:
        """Write what is held, or read once and write that.

        A connection that breaks ends this direction alone: what the other one has received of it
        before still goes on.
        """
        if not self._holds and not self._source_ended:
            self._take()
        if self._holds:
            self._give()
        if self._source_ended and not self._holds and not self.has_ended:
            self.has_ended = True
            with suppress(OSError):
                self._sink.shutdown(socket.SHUT_WR)

    def let_go(self) -> None:
        """Forget what is held."""
        self._left = self._room[:0]
        self._return_pipe()

    def _take(self) -> None:
        try:
            count = self._read()
        except BlockingIOError:
            return
        except OSError:
            count = 0
        self._source_ended = not count
        self.moved += count

    def _read(self) -> int:
        if self._pipes is not None and self.moved >= MUCH:
            self._pipe = self._pipes.borrow()
        if self._pipe is not None:
            try:
                return self._pipe.fill(self._source.fileno())
            except OSError as error:
                if error.errno not in _UNKNOWN:
                    raise
                self._pipes = None
            finally:
                if not self._pipe.held:
                    self._return_pipe()
        count = self._source.recv_into(self._room)
        self._left = self._room[:count]
        return count

    def _give(self) -> None:
        try:
            if self._pipe is None:
                self._left = self._left[self._sink.send(self._left) :]
            else:
                self._pipe.drain(self._sink.fileno())
        except BlockingIOError:
            return
        except OSError:  # nobody is left to take it
            self._source_ended = True
            self.let_go()
        if self._pipe is not None and not self._pipe.held:
            self._return_pipe()

    def _return_pipe(self) -> None:
        if self._pipe is not None:
            self._pipe.give_back()
            self._pipe = None
