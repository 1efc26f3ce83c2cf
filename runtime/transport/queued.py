"""Streams without file descriptors: a pair within one process, and a process behind a launcher."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from runtime.transport.frames import Part
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream

ROOM = 1 << 18
"""How many bytes the other end may leave unread before a sender has to wait."""


class Inbox:
    """What came and was not read yet; `readable` is called on the reactor's thread."""

    def __init__(self) -> None:
        self._pieces: deque[memoryview] = deque()
        self._lock = threading.Lock()
        self._ended = False
        self._wanted = False
        self._notified = False
        self._reactor: Reactor | None = None
        self._readable: Callable[[], None] | None = None
        self.size = 0

    def attach(self, reactor: Reactor, readable: Callable[[], None]) -> None:
        """Say who is told of what comes."""
        self._reactor, self._readable = reactor, readable

    def want(self, wanted: bool) -> None:
        """Say whether anybody wants to be told."""
        with self._lock:
            self._wanted = wanted
            self._notify()

    def put(self, data: bytes) -> None:
        """Add what came; safe from every thread."""
        with self._lock:
            if not self._ended:
                self._pieces.append(memoryview(data))
                self.size += len(data)
                self._notify()

    def end(self) -> None:
        """Say that no more will come."""
        with self._lock:
            self._ended = True
            self._notify()

    def take(self, space: memoryview) -> int | None:
        """Fill `space`; 0 at the end, None if nothing is there yet."""
        with self._lock:
            filled = 0
            while self._pieces and filled < len(space):
                piece = self._pieces.popleft()
                count = min(len(piece), len(space) - filled)
                space[filled : filled + count] = piece[:count]
                filled += count
                if count < len(piece):
                    self._pieces.appendleft(piece[count:])
            self.size -= filled
            return filled or (0 if self._ended else None)

    def _notify(self) -> None:
        if self._wanted and not self._notified and self._reactor and (self._pieces or self._ended):
            self._notified = True
            self._reactor.soon(self._call)

    def _call(self) -> None:
        with self._lock:
            self._notified = False
            wanted = self._wanted
        if wanted and self._readable:
            self._readable()
            with self._lock:
                self._notify()


class QueuedStream(ByteStream):
    """A stream whose bytes come in by an inbox; what leaves it has to have room elsewhere."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self._reactor: Reactor | None = None
        self._writable: Callable[[], None] | None = None
        self._wants_write = False

    def attach(
        self, reactor: Reactor, readable: Callable[[], None], writable: Callable[[], None]
    ) -> None:
        """Let the reactor call `readable` and `writable` whenever these are wanted and true."""
        self._inbox.attach(reactor, readable)
        self._reactor, self._writable = reactor, writable

    def want(self, *, read: bool, write: bool) -> None:
        """Say which of the two callbacks are wanted from now on."""
        self._inbox.want(read)
        self._wants_write = write
        self._room_changed()

    def receive_into(self, space: memoryview) -> int | None:
        """Put what came into `space`; 0 at the end of the stream, None if nothing is there yet."""
        return self._inbox.take(space)

    def _has_room(self) -> bool:
        return True

    def _room_changed(self) -> None:
        if self._wants_write and self._has_room() and self._reactor and self._writable:
            self._reactor.soon(self._call_writable)

    def _call_writable(self) -> None:
        if self._wants_write and self._has_room() and self._writable:
            self._writable()


class MemoryStream(QueuedStream):
    """One end of a pair within a process: the same behaviour as a socket, and no kernel."""

    def __init__(self) -> None:
        super().__init__()
        self._other: MemoryStream = self

    @classmethod
    def pair(cls) -> tuple[MemoryStream, MemoryStream]:
        """Return the two ends."""
        left, right = cls(), cls()
        left._other, right._other = right, left
        return left, right

    def receive_into(self, space: memoryview) -> int | None:
        """Put what came into `space`; 0 at the end of the stream, None if nothing is there yet."""
        count = super().receive_into(space)
        self._other._room_changed()
        return count

    def send(self, pieces: Sequence[Part]) -> int:
        """Take bytes off `pieces`, as many as fit now, and return how many; raises OSError."""
        inbox = self._other._inbox
        if inbox._ended:
            raise BrokenPipeError("the other end is closed")
        data = _first_bytes(pieces, ROOM - inbox.size)
        inbox.put(data)
        return len(data)

    def close(self) -> None:
        """End both directions."""
        self._inbox.want(False)
        self._inbox.end()
        self._other._inbox.end()
        self._wants_write = False

    def _has_room(self) -> bool:
        inbox = self._other._inbox
        return inbox.size < ROOM or inbox._ended


class Writable(Protocol):
    """The part of a launcher's process that a stream needs."""

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """Write to the process's stdin, waiting while it does not read."""

    def close_input(self) -> None:
        """Close its stdin."""


class ProcessStream(QueuedStream):
    """The stdin and stdout of a process that a launcher started, here or behind ssh.

    Make it first; `received` and `finished` are fed by the launcher's sink; `connect` it to the
    process. Writing to a process waits, so it is done by a thread of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._outgoing = b""
        self._closed = False
        self._broken: Exception | None = None
        self._writer: threading.Thread | None = None

    def connect(self, process: Writable, name: str) -> None:
        """Write to `process` from now on."""
        self._writer = threading.Thread(
            target=self._write, args=(process,), name=f"writing to {name}", daemon=True
        )
        self._writer.start()

    def received(self, data: bytes) -> None:
        """Take what the process wrote to its stdout; safe from every thread."""
        self._inbox.put(data)

    def finished(self) -> None:
        """Record that the process writes no more."""
        self._inbox.end()

    def send(self, pieces: Sequence[Part]) -> int:
        """Take bytes off `pieces`, as many as fit now, and return how many; raises OSError."""
        with self._changed:
            if self._broken is not None or self._closed:
                raise BrokenPipeError(f"the process takes no more: {self._broken or 'closed'}")
            if self._outgoing:
                return 0
            self._outgoing = _first_bytes(pieces, ROOM)
            self._changed.notify_all()
            return len(self._outgoing)

    def close(self) -> None:
        """Close the process's stdin behind all that was sent."""
        self._inbox.want(False)
        self._inbox.end()
        with self._changed:
            self._closed = True
            self._wants_write = False
            self._changed.notify_all()

    def _write(self, process: Writable) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._outgoing or self._closed)
                data = self._outgoing
            if not data:
                break
            try:
                process.write(data)
            except Exception as error:  # the channel is told, with whatever the launcher says
                with self._changed:
                    self._broken = error
                self._inbox.end()
            with self._changed:
                self._outgoing = b""
                self._room_changed()
                if self._broken is not None:
                    return
        process.close_input()

    def _has_room(self) -> bool:
        return not self._outgoing


def _first_bytes(pieces: Sequence[Part], most: int) -> bytes:
    """Return the first bytes of `pieces`, at most `most`."""
    taken: list[Part] = []
    for piece in pieces:
        if most <= 0:
            break
        taken.append(piece[:most])
        most -= len(taken[-1])
    return b"".join(taken)
