"""One direction of two joined connections: from a source to a sink.

Little is copied. Large amounts go through a pipe: the kernel then moves its own buffers from one
socket to the other, which takes a third of the time.
"""

from __future__ import annotations

import errno
import socket
from contextlib import suppress

from runtime.forwarding.pipes import Pipe, Pipes
from runtime.transport.reactor import READ, WRITE

CHUNK = 256 << 10
"""The most bytes held as a copy: bounds the memory of a forwarder."""

MUCH = 1 << 20
"""After this many bytes a direction uses a pipe; short conversations need none."""

_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.EPERM}
"""The errors by which a system says that it does not support this, or not here."""


class Flow:
    """One direction. It holds what the sink has not taken yet: a chunk at most, or a full pipe."""

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
        """The event to wait for at the source, or 0."""
        return 0 if self._holds or self._source_ended else READ

    @property
    def wants_write(self) -> int:
        """The event to wait for at the sink, or 0."""
        return WRITE if self._holds else 0

    @property
    def _holds(self) -> bool:
        return bool(self._left) or self._pipe is not None

    def begin(self, received: bytes) -> None:
        """Hold what was received before the connections were joined."""
        self._left = memoryview(received)
        self.moved += len(received)

    def move(self) -> None:
        """Write what is held, or read once and write that.

        A connection that breaks ends this direction only: what the other one has received from it
        is still delivered.
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
        """Drop what is held."""
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
        except OSError:  # the receiver is gone
            self._source_ended = True
            self.let_go()
        if self._pipe is not None and not self._pipe.held:
            self._return_pipe()

    def _return_pipe(self) -> None:
        if self._pipe is not None:
            self._pipe.give_back()
            self._pipe = None
