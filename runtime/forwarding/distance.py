"""Distance on one machine: messages between emulated sites arrive later, and at a bounded rate.

Every rank of a cluster gets an address of its own for ranks of other sites. Behind it a thread of
the front-end passes bytes on after the delay of the line, at its rate, both ways. What TCP does
over a long line (slow start, losses) is not emulated.
"""

from __future__ import annotations

import errno
import resource
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from runtime.topology import Wan

ADDRESS = "127.0.0.2"
"""Of this machine, but not what ranks of one site use among themselves."""

_PIECE = 1 << 16
_LEAST_BUFFER = 1 << 20
_FULL = 0.05
"""Seconds for which a door takes no connection where no more files can be open."""


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


class DistantDoors:
    """Lets ranks of other sites reach those of a cluster over a line; `close` ends its thread."""

    def __init__(self, wan: Wan, clock: Callable[[], float] = time.monotonic) -> None:
        _allow_many_files()
        self._inwards, self._outwards = WanLine(wan), WanLine(wan)
        self._clock = clock
        self._selector = selectors.DefaultSelector()
        self._pipes: dict[socket.socket, tuple[_Pipe, _Pipe]] = {}  # of each end: from it, to it
        self._waker, self._wakened = socket.socketpair()
        self._wakened.setblocking(False)
        self._doors: list[tuple[socket.socket, str]] = []
        self._resting: deque[tuple[float, socket.socket, str]] = deque()  # until then
        self._lock = threading.Lock()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="distance", daemon=True)
        self._thread.start()

    def before(self, path: str) -> str:
        """Return a new address whose connections lead over the line to a Unix socket."""
        door = socket.create_server((ADDRESS, 0), backlog=512)
        door.setblocking(False)
        with self._lock:
            self._doors.append((door, path))
        self._waker.send(b"\0")
        return f"{ADDRESS}:{door.getsockname()[1]}"

    def close(self) -> None:
        """Hang up everywhere."""
        self._is_over = True
        self._waker.send(b"\0")
        self._thread.join()
        for one in (*self._pipes, *(door for door, _ in self._doors), self._waker, self._wakened):
            one.close()
        self._selector.close()

    def _run(self) -> None:
        self._selector.register(self._wakened, selectors.EVENT_READ)
        known = 0
        while not self._is_over:
            for key, events in self._selector.select(self._pause()):
                if key.fileobj is self._wakened:
                    with suppress(BlockingIOError):
                        self._wakened.recv(64)
                elif key.data is not None:
                    self._accept(key.fileobj, key.data)
                else:
                    self._move(key.fileobj, events)
            with self._lock:
                for door, path in self._doors[known:]:
                    self._selector.register(door, selectors.EVENT_READ, path)
                known = len(self._doors)
            now = self._clock()
            while self._resting and self._resting[0][0] <= now:
                _, door, path = self._resting.popleft()
                self._selector.register(door, selectors.EVENT_READ, path)
            for pipe, _ in list(self._pipes.values()):
                due = pipe.next_arrival
                if due is not None and due <= now:
                    self._pass_on(pipe, now)

    def _pause(self) -> float | None:
        due = [one for pipe, _ in self._pipes.values() if (one := pipe.next_arrival) is not None]
        due += [self._resting[0][0]] if self._resting else []
        return max(0.0, min(due) - self._clock()) if due else None

    def _accept(self, door: object, path: str) -> None:
        assert isinstance(door, socket.socket)
        try:
            outer, _ = door.accept()
        except OSError as fault:
            if fault.errno in (errno.EMFILE, errno.ENFILE):
                # It would stay readable: whoever waits there does so until the door is back.
                self._selector.unregister(door)
                self._resting.append((self._clock() + _FULL, door, path))
            return
        try:
            inner = _connected(path)
        except OSError:  # the rank has gone, which the other end finds so, or no more can be open
            outer.close()
            return
        outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        inwards = _Pipe(outer, inner, self._inwards)
        outwards = _Pipe(inner, outer, self._outwards)
        for one, pair in ((outer, (inwards, outwards)), (inner, (outwards, inwards))):
            one.setblocking(False)
            self._pipes[one] = pair
            self._selector.register(one, selectors.EVENT_READ)

    def _move(self, end: object, events: int) -> None:
        assert isinstance(end, socket.socket)
        if end not in self._pipes:
            return
        outgoing, incoming = self._pipes[end]
        now = self._clock()
        if events & selectors.EVENT_READ:
            outgoing.read(now)
        if events & selectors.EVENT_WRITE:
            self._pass_on(incoming, now)
        self._watch(end)

    def _pass_on(self, pipe: _Pipe, now: float) -> None:
        try:
            pipe.write(now)
        except OSError:  # what travels the other way still arrives
            pipe.drop()
        there = self._pipes.get(pipe.target)
        if there is not None and pipe.is_done and there[0].is_done:
            self._hang_up(pipe)
            return
        self._watch(pipe.source)
        self._watch(pipe.target)

    def _watch(self, end: socket.socket) -> None:
        """Wait for what can be done with one end of a connection now."""
        if end not in self._pipes:
            return
        outgoing, incoming = self._pipes[end]
        events = selectors.EVENT_READ if outgoing.wants_more else 0
        events |= selectors.EVENT_WRITE if incoming.is_stuck else 0
        registered = self._selector.get_map().get(end)
        if registered is None and events:
            self._selector.register(end, events)
        elif registered is not None and not events:
            self._selector.unregister(end)
        elif registered is not None and registered.events != events:
            self._selector.modify(end, events)

    def _hang_up(self, pipe: _Pipe) -> None:
        for end in (pipe.source, pipe.target):
            if self._pipes.pop(end, None) is not None:
                with suppress(KeyError):
                    self._selector.unregister(end)
                end.close()
