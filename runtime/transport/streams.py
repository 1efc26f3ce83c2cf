"""Streams: what a channel needs of a way to move bytes, and sockets and pipes as such."""

from __future__ import annotations

import _socket
import contextlib
import os
import select
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.transport.brief_waits import BriefWaits
from runtime.transport.decrypted import DECRYPTED
from runtime.transport.frames import Part
from runtime.transport.reactor import IDLE, READ, WRITE, Reactor

if TYPE_CHECKING:
    from _socket import socket

MOST_VIEWS = 512
"""How many pieces one call of `send` is given at most: what every system takes."""


class ByteStream(Protocol):
    """Bytes both ways, without waiting. All but `close` is called on the reactor's thread only.

    `send` is the exception: any thread may call it, but only one at a time.
    """

    def attach(
        self, reactor: Reactor, readable: Callable[[], None], writable: Callable[[], None]
    ) -> None:
        """Let the reactor call `readable` and `writable` whenever these are wanted and true."""

    def want(self, *, read: bool, write: bool) -> None:
        """Say which of the two callbacks are wanted from now on."""

    def receive_into(self, space: memoryview) -> int | None:
        """Put what came into `space`; 0 at the end of the stream, None if nothing is there yet."""

    def send(self, pieces: Sequence[Part]) -> int:
        """Take bytes off `pieces`, as many as fit now, and return how many; raises OSError."""

    def await_readable(self, seconds: float | None) -> bool:  # noqa: ARG002 - some wait
        """Wait in the caller's thread until something can be received; False if nothing came.

        Only while no callback for reading is wanted. A stream that has nothing to poll, or where
        nobody could wake who waits, leaves that to the reactor.
        """
        return False

    def hang_up(self) -> None:
        """Let those who wait in `await_readable` see the end of the stream."""
        return

    def close(self) -> None:
        """Let go of everything; the callbacks are not called any more."""


class _Watched(ByteStream):
    """What sockets and pipes have in common: file descriptors that the reactor watches."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads = reads
        self._writes = writes
        self._reactor: Reactor | None = None
        self._readable: Callable[[], None] = _nobody
        self._writable: Callable[[], None] = _nobody

    def attach(
        self, reactor: Reactor, readable: Callable[[], None], writable: Callable[[], None]
    ) -> None:
        """Let the reactor call `readable` and `writable` whenever these are wanted and true."""
        self._reactor, self._readable, self._writable = reactor, readable, writable

    def want(self, *, read: bool, write: bool) -> None:
        """Say which of the two callbacks are wanted from now on."""
        if self._reactor is None:
            return
        if self._reads == self._writes:
            events = (READ if read else 0) | (WRITE if write else 0)
            self._reactor.watch(self._reads, events or IDLE, self._ready)
        else:
            self._reactor.watch(self._reads, READ if read else 0, self._ready)
            self._reactor.watch(self._writes, WRITE if write else 0, self._ready)

    def _detach(self) -> None:
        if self._reactor is not None:
            self._reactor.watch(self._reads, 0, self._ready)
            self._reactor.watch(self._writes, 0, self._ready)
        self._reactor, self._readable, self._writable = None, _nobody, _nobody

    def _ready(self, events: int) -> None:
        if events & READ:
            self._readable()
        if events & WRITE:
            self._writable()


class SocketStream(_Watched):
    """A connected socket, TCP or Unix."""

    def __init__(self, connected: socket) -> None:
        connected.setblocking(False)
        super().__init__(connected.fileno(), connected.fileno())
        self._socket = connected
        self._poll: Callable[[float | None], list[tuple[int, int]]] | None = None
        self._brief_waits = BriefWaits(tick=1e-3)

    def receive_into(self, space: memoryview) -> int | None:
        """Put what came into `space`; 0 at the end of the stream, None if nothing is there yet."""
        try:
            return self._socket.recv_into(space)
        except BlockingIOError:
            return None

    def send(self, pieces: Sequence[Part]) -> int:
        """Take bytes off `pieces`, as many as fit now, and return how many; raises OSError."""
        try:
            if len(pieces) == 1:
                return self._socket.send(pieces[0])
            return self._socket.sendmsg(pieces)
        except BlockingIOError:
            return 0

    def await_readable(self, seconds: float | None) -> bool:
        """Wait in the caller's thread until something can be received; False if nothing came."""
        if self._reads in DECRYPTED:
            return True
        if self._poll is None:
            poll = select.poll()
            poll.register(self._reads, select.POLLIN)
            self._poll = poll.poll
        return bool(self._brief_waits.wait(self._poll, seconds))

    def hang_up(self) -> None:
        """Let those who wait in `await_readable` see the end of the stream."""
        with contextlib.suppress(OSError):  # it may have ended
            self._socket.shutdown(_socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up."""
        self._detach()
        self._socket.close()


class PipeStream(_Watched):
    """Two pipes, such as the standard input and output of a process; it owns both descriptors."""

    def __init__(self, reads: int, writes: int) -> None:
        os.set_blocking(reads, False)
        os.set_blocking(writes, False)
        super().__init__(reads, writes)
        self._open = True

    def receive_into(self, space: memoryview) -> int | None:
        """Put what came into `space`; 0 at the end of the stream, None if nothing is there yet."""
        try:
            return os.readv(self._reads, [space])
        except BlockingIOError:
            return None

    def send(self, pieces: Sequence[Part]) -> int:
        """Take bytes off `pieces`, as many as fit now, and return how many; raises OSError."""
        try:
            return os.writev(self._writes, pieces)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """Close both pipes."""
        self._detach()
        if self._open:
            self._open = False
            os.close(self._reads)
            os.close(self._writes)


def _nobody() -> None:
    """Be told when nobody else is."""
