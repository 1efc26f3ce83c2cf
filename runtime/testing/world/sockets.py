"""What the process of an actor gets from its system: sockets and descriptors, as production asks.

They look like those of the standard library, as far as production uses them. What they do to the
network is kept as effects, until the actor returns them.
"""

from __future__ import annotations

import errno
import os
import random
import select
import socket
from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any, cast

from runtime.testing.world.engine import Effect
from runtime.testing.world.network import (
    ConnectionEnd,
    Dialled,
    EndLife,
    HungUp,
    ListeningPlace,
    Network,
    Read,
    WorldConnection,
    Wrote,
)
from runtime.wire.dialling.system import DiallingSystem, SilentDescriptor, WatchedSet

Buffer = bytes | bytearray | memoryview

_IN, _OUT = select.EPOLLIN, select.EPOLLOUT
_FAILED = select.EPOLLERR | select.EPOLLHUP | _IN | _OUT
_TCP_INFO = Struct("=68xI76xI")
ANSWERS = Struct("=3xB20xI28xI")
"""What Linux tells of answers, as `runtime.transport.round_trip` reads it."""


class Descriptors:
    """The descriptors of one process: the lowest free number is taken first, as systems do."""

    def __init__(self) -> None:
        self._there: dict[int, Descriptor] = {}

    def __getitem__(self, number: int) -> Descriptor | None:
        """Return what has a number, if anything has it."""
        return self._there.get(number)

    def add(self, made: Descriptor) -> int:
        """Return the number of something new."""
        number = 3
        while number in self._there:
            number += 1
        self._there[number] = made
        return number

    def remove(self, number: int) -> None:
        """Let a number be free again."""
        self._there.pop(number, None)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._there)


class Descriptor:
    """Something with a number; `ready` says what can be done with it now."""

    def __init__(self, process: WorldProcess) -> None:
        self._process = process
        self._number = process.descriptors.add(self)

    def fileno(self) -> int:
        """Return the number, or -1 once it is closed."""
        return self._number

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._number < 0

    def ready(self) -> int:
        """Return the events that are true."""
        return 0

    def close(self) -> None:
        """Give the number back; twice is once."""
        if self._number >= 0:
            self._process.descriptors.remove(self._number)
            self._process.watched.pop(self._number, None)
            self._number = -1


class WorldSocket(Descriptor):
    """One end of a connection, as a socket."""

    type = socket.SOCK_STREAM

    def __init__(self, process: WorldProcess, connection: WorldConnection, at: int) -> None:
        super().__init__(process)
        self._connection = connection
        self._at = at
        self.family = socket.AF_UNIX if connection.is_on_host else socket.AF_INET

    @property
    def _end(self) -> ConnectionEnd:
        return self._connection.ends[self._at]

    def ready(self) -> int:
        """Return the events that are true."""
        end = self._end
        if end.life is EndLife.BROKEN:
            return _FAILED
        if end.life is EndLife.CONNECTING:
            return 0
        readable = _IN if end.received or end.has_ended else 0
        return readable | (_OUT if self._room > 0 else 0)

    @property
    def _room(self) -> int:
        end = self._end
        return self._process.network.room - len(end.unsent) - end.unconfirmed

    def connect_ex(self, address: str) -> int:
        """Begin to connect."""
        self._process.do(Dialled(self._connection.number, address))
        return errno.EINPROGRESS

    def getsockopt(self, level: int, option: int, size: int = 0) -> Any:
        """Return the error of a connection, or what the system has measured."""
        end = self._end
        if (level, option) == (socket.SOL_SOCKET, socket.SO_ERROR):
            found, end.error = end.error, 0
            return found
        if size == _TCP_INFO.size and not self._connection.is_on_host:
            line = self._process.network.line(end.host, self._connection.ends[1 - self._at].host)
            usual = int((2 * line.latency + line.backlog(self._process.now)) * 1e6)
            return _TCP_INFO.pack(usual, int(2 * line.latency * 1e6))
        raise OSError(errno.ENOPROTOOPT, os.strerror(errno.ENOPROTOOPT))

    def setsockopt(self, *_: Any) -> None:
        """Take note of nothing: the network has its own idea of silence and of room."""

    def setblocking(self, _: bool) -> None:
        """Never block."""

    def getpeername(self) -> Any:
        """Return something, once it is connected."""
        if self._end.life is EndLife.CONNECTING:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        return self._connection.address

    def getsockname(self) -> Any:
        """Return where the connection was taken."""
        return self._connection.address

    def recv(self, size: int) -> bytes:
        """Return what has come, at most so much; nothing at the end."""
        space = bytearray(size)
        return bytes(space[: self.recv_into(space)])

    def recv_into(self, space: Buffer) -> int:
        """Fill a space with what has come; return how much that is."""
        return self._receive([memoryview(space)])

    def recvmsg_into(self, spaces: Iterable[Buffer]) -> tuple[int, list[Any], int, Any]:
        """Fill several spaces."""
        return self._receive([memoryview(one) for one in spaces]), [], 0, None

    def _receive(self, spaces: list[memoryview]) -> int:
        self._check()
        end = self._end
        if not end.received:
            if end.life is EndLife.BROKEN:
                error = end.error or errno.ECONNRESET
                raise OSError(error, os.strerror(error))
            if end.has_ended:
                return 0
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        count = 0
        for space in spaces:
            size = min(len(space), len(end.received) - count)
            space[:size] = end.received[count : count + size]
            count += size
        del end.received[:count]
        self._process.do(Read(self._connection.number, self._at))
        return count

    def send(self, data: Buffer) -> int:
        """Write what finds room; return how much that is."""
        return self.sendmsg([data])

    def sendmsg(self, pieces: Iterable[Buffer]) -> int:
        """Write what finds room of several pieces."""
        self._check()
        end = self._end
        if end.life is EndLife.BROKEN:
            error, end.error = end.error or errno.EPIPE, 0
            raise OSError(error, os.strerror(error))
        room = self._room
        if room <= 0 or end.life is EndLife.CONNECTING:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        room = self._process.some_of(room)
        count = 0
        for piece in pieces:
            view = memoryview(piece)[: room - count]
            end.unsent += view
            count += len(view)
            if count >= room:
                break
        self._process.do(Wrote(self._connection.number, self._at))
        return count

    def close(self) -> None:
        """Hang up."""
        if self._number >= 0:
            super().close()
            self._process.do(HungUp(self._connection.number, self._at))

    def _check(self) -> None:
        if self._number < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))


class WorldListener(Descriptor):
    """A listening socket."""

    def __init__(self, process: WorldProcess, listener: ListeningPlace) -> None:
        super().__init__(process)
        self._listener = listener

    def ready(self) -> int:
        """Return whether somebody waits."""
        return _IN if self._listener.waiting else 0

    def setblocking(self, _: bool) -> None:
        """Never block."""

    def accept(self) -> tuple[Any, Any]:
        """Return the connection of who has waited longest."""
        if not self._listener.waiting:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        connection = self._listener.waiting.pop(0)
        return WorldSocket(self._process, connection, 1), connection.ends[0].host

    def getsockname(self) -> Any:
        """Return where it listens."""
        return self._listener.address

    def close(self) -> None:
        """Let nobody in any more."""
        if self._number >= 0:
            super().close()
            self._process.network.close_listener(self._listener)


class _WorldSet(Descriptor):
    """Several descriptors under one."""

    def __init__(self, process: WorldProcess) -> None:
        super().__init__(process)
        self._events: dict[int, tuple[Descriptor, int]] = {}

    def register(self, descriptor: int, events: int, /) -> None:
        there = self._process.descriptors[descriptor]
        if there is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        self._events[descriptor] = there, events

    def modify(self, descriptor: int, events: int, /) -> None:
        known = self._events.get(descriptor)
        if known is None or known[0] is not self._process.descriptors[descriptor]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        self.register(descriptor, events)

    def ready(self) -> int:
        ended = _FAILED & ~(_IN | _OUT)
        there = ((one, events | ended) for one, events in self._events.values() if not one.closed)
        return _IN if any(one.ready() & events for one, events in there) else 0


class WorldProcess(DiallingSystem):
    """One process: its descriptors, what its loop watches, and what it has asked for."""

    def __init__(self, name: str, host: str, network: Network, rng: random.Random) -> None:
        self.name = name
        self.host = host
        self.network = network
        self.now = 0.0
        self.descriptors = Descriptors()
        self.watched: dict[int, tuple[int, Callable[[int], bool]]] = {}
        self._rng = rng
        self._effects: list[Effect] = []

    def do(self, effect: Effect) -> None:
        """Ask for something."""
        self._effects.append(effect)

    def effects(self) -> list[Effect]:
        """Return what was asked for since the last time."""
        asked, self._effects = self._effects, []
        return asked

    def some_of(self, room: int) -> int:
        """Return how much a system takes at once: often less than it has room for."""
        return room if self._rng.random() < 0.9 else self._rng.randint(1, room)

    @property
    def chance(self) -> float:
        """A number from 0 to 1."""
        return self._rng.random()

    # --- what production asks ---------------------------------------------------------------------

    def socket_for(self, address: str) -> tuple[socket.socket, Any]:
        """Return an unconnected socket, and what to connect it to."""
        made = WorldSocket(self, self.network.connection(self.name, self.host, address), 0)
        return cast("socket.socket", made), address

    def random(self, size: int) -> bytes:
        """Return bytes that the seed decides."""
        return self._rng.randbytes(size)

    def watched_set(self) -> WatchedSet:
        """Return one descriptor for several."""
        return _WorldSet(self)

    def silent_descriptor(self) -> SilentDescriptor:
        """Return a descriptor on which nothing ever happens."""
        return Descriptor(self)

    def listen(self, address: str) -> socket.socket:
        """Return a socket that listens."""
        made = WorldListener(self, self.network.listen(self.name, self.host, address))
        return cast("socket.socket", made)

    # --- the loop ---------------------------------------------------------------------------------

    def watch(self, descriptor: int, events: int, handle: Callable[[int], bool] | None) -> None:
        """Call `handle` when the events are true; with None not any more."""
        self.watched.pop(descriptor, None)
        if handle is not None:
            if self.descriptors[descriptor] is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self.watched[descriptor] = events, handle

    def ready(self) -> list[tuple[int, int, Callable[[int], bool]]]:
        """Return the descriptors at which something can be done, in an order of chance."""
        found = []
        for number, (events, handle) in self.watched.items():
            there = self.descriptors[number]
            happened = 0 if there is None else there.ready()
            happened &= events | (_FAILED & ~(_IN | _OUT))
            if happened:
                found.append((number, happened, handle))
        self._rng.shuffle(found)
        return found

    def progress(self) -> bool:
        """Handle each descriptor at which something can be done; return whether anything was."""
        happened = False
        for number, events, handle in self.ready():
            if number in self.watched:  # it was not closed by one before
                happened = handle(events) or happened
        return happened
