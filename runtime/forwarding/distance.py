"""Distance on one machine: messages between emulated sites arrive later, and at a bounded rate.

Every rank of a cluster gets an address of its own for ranks of other sites. Behind it a thread of
the front-end passes bytes on after the delay of the line, at its rate, both ways. What TCP does
over a long line (slow start, losses) is not emulated.
"""

from __future__ import annotations

import errno
import resource
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from runtime.topology import Wan
from runtime.transport.reactor import READ, WRITE, Reactor

ADDRESS = "127.0.0.2"
"""Of this machine, but not what ranks of one site use among themselves."""

_PIECE = 1 << 16
_LEAST_BUFFER = 1 << 20
_FULL = 0.05
"""Seconds for which a listener takes no connection where no more files can be open."""


class WanLine:
    """One direction of a line: when bytes that begin to travel now arrive at the other end.

    >>> line = WanLine(Wan(delay=0.01, rate=1e6))
    >>> [round(line.arrival(0.0, 10_000), 3), round(line.arrival(0.0, 10_000), 3)]
    [0.02, 0.03]
    """

    def __init__(self, wan: Wan) -> None:
        self._wan = wan
        self._free = 0.0

    def arrival(self, now: float, size: int) -> float:
        """Return when the last of so many bytes arrives; they travel behind all before them."""
        self._free = max(now, self._free)
        if self._wan.rate:
            self._free += size / self._wan.rate
        return self._free + self._wan.delay

    @property
    def holds(self) -> int:
        """Return how many bytes can be under way, with some room for who reads late."""
        return max(_LEAST_BUFFER, int(2 * self._wan.delay * self._wan.rate))


class _Pipe:
    """Bytes of one connection in one direction."""

    def __init__(self, source: socket.socket, target: socket.socket, line: WanLine) -> None:
        self.source, self.target, self.line = source, target, line
        self.queue: deque[tuple[float, memoryview]] = deque()
        self.held = 0
        self.is_read, self.is_done, self.is_stuck = False, False, False
        self.is_timed = False
        """Whether a timer goes for what arrives next."""

    @property
    def wants_more(self) -> bool:
        return not self.is_read and self.held < self.line.holds

    def read(self, now: float) -> None:
        try:
            data = self.source.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:  # the other end is told of its end behind all that it has sent
            data = b""
        self.is_read = not data
        self.held += len(data)
        self.queue.append((self.line.arrival(now, len(data)), memoryview(data)))

    def write(self, now: float) -> None:
        """Pass on what has arrived by now; the end of the stream comes last, as an empty piece."""
        self.is_stuck = False
        while self.queue and self.queue[0][0] <= now:
            arrived, data = self.queue.popleft()
            if not data:
                self.is_done = True
                self.target.shutdown(socket.SHUT_WR)
                return
            try:
                sent = self.target.send(data)
            except BlockingIOError:
                sent = 0
            self.held -= sent
            if sent < len(data):
                self.queue.appendleft((arrived, data[sent:]))
                self.is_stuck = True
                return

    def drop(self) -> None:
        """Give up what nobody takes."""
        self.queue.clear()
        self.held, self.is_read, self.is_done, self.is_stuck = 0, True, True, False

    @property
    def next_arrival(self) -> float | None:
        """When there is something to pass on; None while nothing comes or the target is full."""
        return self.queue[0][0] if self.queue and not self.is_stuck else None


def _allow_many_files() -> None:
    """Each connection takes two descriptors, and there may be one for each two ranks."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # a system may refuse what it calls the limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))


def _connected(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(path)
    except OSError:
        made.close()
        raise
    return made


class DistantListeners:
    """Lets ranks of other sites reach those of a cluster over a line; `close` ends its thread."""

    def __init__(self, wan: Wan, clock: Callable[[], float] = time.monotonic) -> None:
        _allow_many_files()
        self._inwards, self._outwards = WanLine(wan), WanLine(wan)
        self._clock = clock
        self._pipes: dict[socket.socket, tuple[_Pipe, _Pipe]] = {}  # of each end: from it, to it
        self._listeners: list[socket.socket] = []
        self._reactor = Reactor("distance")
        self._reactor.start()

    def before(self, path: str) -> str:
        """Return a new address whose connections lead over the line to a Unix socket."""
        listener = socket.create_server((ADDRESS, 0), backlog=512)
        listener.setblocking(False)
        self._listeners.append(listener)
        self._open(listener, path)
        return f"{ADDRESS}:{listener.getsockname()[1]}"

    def close(self) -> None:
        """Hang up everywhere."""
        self._reactor.close()
        for one in (*self._pipes, *self._listeners):
            one.close()

    def _open(self, listener: socket.socket, path: str) -> None:
        self._reactor.watch(listener.fileno(), READ, lambda _: self._accept(listener, path))

    def _accept(self, listener: socket.socket, path: str) -> None:
        try:
            outer, _ = listener.accept()
        except OSError as fault:
            if fault.errno in (errno.EMFILE, errno.ENFILE):
                # It would stay readable: whoever waits there does so until the listener is back.
                self._reactor.watch(listener.fileno(), 0, bool)
                self._reactor.later(_FULL, lambda: self._open(listener, path))
            return
        try:
            inner = _connected(path)
        except OSError as fault:  # the rank has gone, or no more can be open
            if fault.errno in (errno.ECONNREFUSED, errno.ENOENT):
                # A host refuses where nobody listens any more; who is taken in tries for ever. So
                # it is before the first one is dropped that the next ones are refused.
                self._reactor.watch(listener.fileno(), 0, bool)
                self._listeners.remove(listener)
                listener.close()
            outer.close()
            return
        outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        inwards = _Pipe(outer, inner, self._inwards)
        outwards = _Pipe(inner, outer, self._outwards)
        for one, pair in ((outer, (inwards, outwards)), (inner, (outwards, inwards))):
            one.setblocking(False)
            self._pipes[one] = pair
            self._watch(one)

    def _move(self, end: socket.socket, events: int) -> None:
        outgoing, incoming = self._pipes[end]
        if events & READ:
            outgoing.read(self._clock())
            self._await_arrival(outgoing)
        if events & WRITE:
            self._pass_on(incoming)
        self._watch(end)

    def _await_arrival(self, pipe: _Pipe) -> None:
        due = pipe.next_arrival
        if due is not None and not pipe.is_timed:
            pipe.is_timed = True
            self._reactor.later(max(0.0, due - self._clock()), lambda: self._arrived(pipe))

    def _arrived(self, pipe: _Pipe) -> None:
        pipe.is_timed = False
        self._pass_on(pipe)

    def _pass_on(self, pipe: _Pipe) -> None:
        try:
            pipe.write(self._clock())
        except OSError:  # what travels the other way still arrives
            pipe.drop()
        there = self._pipes.get(pipe.target)
        if there is not None and pipe.is_done and there[0].is_done:
            for end in (pipe.source, pipe.target):
                del self._pipes[end]
                self._reactor.watch(end.fileno(), 0, bool)
                end.close()
            return
        self._await_arrival(pipe)
        self._watch(pipe.source)
        self._watch(pipe.target)

    def _watch(self, end: socket.socket) -> None:
        """Wait for what can be done with one end of a connection now."""
        if end in self._pipes:
            outgoing, incoming = self._pipes[end]
            events = (READ if outgoing.wants_more else 0) | (WRITE if incoming.is_stuck else 0)
            self._reactor.watch(end.fileno(), events, lambda events: self._move(end, events))
