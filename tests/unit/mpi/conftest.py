"""What the tests of the engine share: two processes of the grid in one, with a wire in memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from mpi4py import MPI

from runtime.mpi.communicators.classes import wrap
from runtime.mpi.progress.engine import Engine
from runtime.mpi.progress.membership import CommunicatorMembers, intra
from runtime.mpi.surface.communicator_classes import Comm
from runtime.mpi.surface.start import start
from runtime.wire import SENT, Incoming, Outgoing


@pytest.fixture(scope="session", autouse=True)
def _started() -> None:
    """Make the communicators of this process, as every program does that imports MPI."""
    start()


class MemoryIncoming(Incoming):
    """A message whose payload is here, or is held back by the test."""

    __slots__ = ("bytes", "connections", "outgoing")

    def __init__(self, connections: MemoryPost, source: int, head: bytes, payload: bytes) -> None:
        super().__init__(source, head, len(payload), 0, connections, asks=False)
        self.connections, self.bytes = connections, payload
        self.outgoing: Outgoing | None = None

    def give(self, buffer: memoryview) -> None:
        assert len(buffer) == self.size
        self.payload = buffer
        self._matched()

    def take(self) -> None:
        self.payload = memoryview(bytearray(self.size))
        self._matched()

    def _matched(self) -> None:
        if self.outgoing is not None:
            self.outgoing.done = True
        if self.connections.is_slow:
            self.connections.unfinished.append(self)
        else:
            self.fill()

    def fill(self) -> None:
        assert isinstance(self.payload, memoryview)
        self.payload[:] = self.bytes
        self.done = True


@dataclass
class MemoryPost:
    """The contract of a post, without sockets."""

    me: int
    connections: dict[int, MemoryPost]
    sink: Any = None
    inbox: deque[Callable[[], None]] = field(default_factory=deque)
    unfinished: list[MemoryIncoming] = field(default_factory=list)
    is_slow: bool = False
    gone: dict[int, Exception] = field(default_factory=dict)
    watched: list[int] = field(default_factory=list)
    is_closed: bool = False
    bell: threading.Event = field(default_factory=threading.Event)

    def send(
        self, to: int, head: bytes, payload: Sequence[memoryview] = (), *, sync: bool = False
    ) -> Outgoing:
        if to in self.gone:
            lost = Outgoing()
            lost.error = self.gone[to]
            return lost
        other = self.connections[to]
        incoming = MemoryIncoming(other, self.me, head, b"".join(payload))
        if sync:
            incoming.outgoing = Outgoing()
        other.inbox.append(lambda: other.sink.arrived(incoming))
        other.bell.set()
        return incoming.outgoing or SENT

    def matched(self, incoming: Incoming) -> None:
        """Know nothing new: `MemoryIncoming` has told it."""

    def progress(self) -> bool:
        moved = bool(self.inbox)
        while self.inbox:
            self.inbox.popleft()()
        return moved

    def finish_slow(self) -> None:
        """Let what was matched while it came in be complete."""
        for incoming in self.unfinished:
            incoming.fill()
            self.sink.completed(incoming)
        self.unfinished.clear()

    def lose(self, peer: int, why: Exception) -> None:
        """Lose a peer, once what it has sent has arrived."""
        self.gone[peer] = why
        self.inbox.append(lambda: self.sink.lost(peer, why))
        self.bell.set()

    def ready(self, timeout: float | None) -> bool:
        woken = self.bell.wait(timeout)
        self.bell.clear()
        return woken

    def wake(self) -> None:
        self.bell.set()

    def watch(self, peer: int) -> None:
        self.watched.append(peer)

    def why_lost(self, peer: int) -> Exception | None:
        return self.gone.get(peer)

    def close(self, patience: float | None = None) -> None:
        self.is_closed = True


@dataclass
class Pair:
    """Two processes, each alone in its cluster: both have rank 0 of native MPI, COMM_SELF."""

    engines: tuple[Engine, Engine]
    connections: tuple[MemoryPost, MemoryPost]
    members: tuple[CommunicatorMembers, CommunicatorMembers]

    def move(self) -> None:
        """Let everything that was sent arrive."""
        for engine in self.engines:
            engine.poll()


_NUMBERS = count()


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two processes of two clusters, and a communicator of both; nothing moves by itself."""
    connections: dict[int, MemoryPost] = {}
    natives, members, engines = [], [], []
    context = next(_NUMBERS).to_bytes(8, "big")
    for me in range(2):
        engine = Engine(me, me, me + 1, "0:{}:0 on node".format)
        connections[me] = MemoryPost(me, connections, engine)
        engine.connections = connections[me]  # type: ignore[assignment]  # it has what a post has
        natives += [MPI.COMM_SELF.Dup(), MPI.COMM_SELF.Dup()]
        members.append(intra(engine, (0, 1), natives[-2], natives[-1], context))
        engines.append(engine)
    yield Pair((engines[0], engines[1]), (connections[0], connections[1]), (members[0], members[1]))
    for native in natives:
        native.Free()


@pytest.fixture
def here(pair: Pair) -> Comm:
    """The communicator of a pair as rank 0 sees it."""
    comm: Comm = wrap(pair.members[0])
    return comm


@pytest.fixture
def there(pair: Pair) -> Comm:
    """The same as rank 1 sees it; both are in one thread, so that no call may wait for another."""
    comm: Comm = wrap(pair.members[1])
    return comm
