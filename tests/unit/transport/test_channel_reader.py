"""Who reads a channel: the reactor, or a thread that waits for the answer to its call."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from runtime.transport.channel_reader import ChannelReader
from runtime.transport.errors import FrameError
from runtime.transport.frames import MOST_BYTES, Frame
from runtime.transport.messages import NOTE, RESULT
from runtime.transport.outbox import Outbox
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream

LONG = 10.0
ODD = 99


class Reading:
    """A reader that listens to itself, and the other end of its connection."""

    def __init__(self, reactor: Reactor) -> None:
        self.reactor = reactor
        near, self.far = socket.socketpair()
        stream = SocketStream(near)
        outbox = Outbox(stream, lambda: None, 1000)
        self.reader = ChannelReader(reactor, stream, outbox, self, MOST_BYTES)
        self.is_held = False
        self.frames: list[tuple[int, bool]] = []  # the number, and whether the reactor brought it
        self.why = ""
        self.changed = threading.Event()
        stream.attach(reactor, self.reader.readable, lambda: None)

    def send_unseen(self, *frames: tuple[int, int]) -> None:
        """Send something of which the reactor takes no notice."""
        self.is_held = True
        self.reader.want()
        self.send(*frames)
        self.is_held = False

    def send(self, *frames: tuple[int, int]) -> None:
        self.far.sendall(b"".join(Frame(*one, [b"data"]).pieces()[0] for one in frames))

    def has_come(self, number: int) -> bool:
        return number in [found for found, _ in self.frames]

    def read_for(self, number: int, seconds: float | None = None) -> None:
        self.reader.read_for(number, lambda: self.has_come(number), seconds)

    def until(self, count: int) -> list[tuple[int, bool]]:
        while len(self.frames) < count and not self.why:
            assert self.changed.wait(LONG)
            self.changed.clear()
        return self.frames

    def handle_frame(self, frame: Frame) -> None:
        if frame.kind == ODD:
            raise FrameError("it is odd")
        self.frames.append((frame.number, self.reactor.is_own_thread()))
        self.changed.set()

    def handle_end(self, why: str, cause: OSError | None = None) -> None:
        self.why, self.cause = why, cause
        self.reader.close()
        self.changed.set()

    give_up = handle_end


@pytest.fixture
def reading(reactor: Reactor) -> Iterator[Reading]:
    made = Reading(reactor)
    yield made
    made.reader.close()
    made.far.close()


def test_what_came_before_is_read_before_what_comes(reading: Reading) -> None:
    reading.send((NOTE, 2), (NOTE, 3))
    early = Frame(NOTE, 1, [b"data"]).pieces()[0]
    reading.reactor.soon(lambda: reading.reader.begin(bytes(early)))
    assert reading.until(3) == [(1, True), (2, True), (3, True)]


def test_a_thread_reads_its_answer_itself_and_leaves_others_in_order(reading: Reading) -> None:
    reading.read_for(4)  # nothing is read of it yet
    reading.reader.begin(b"")
    reading.send_unseen((RESULT, 4))
    reading.read_for(4)
    assert reading.frames == [(4, False)]
    reading.send_unseen((NOTE, 5), (RESULT, 6), (NOTE, 7))
    reading.read_for(6)
    assert reading.until(4)[1:] == [(5, True), (6, True), (7, True)]


def test_a_thread_reads_no_longer_than_it_may(reading: Reading) -> None:
    reading.reader.begin(b"")
    reading.read_for(1, 0.0)
    reading.is_held = True
    reading.reader.want()
    reading.send((RESULT, 1))
    reading.read_for(1)
    assert not reading.frames
    reading.is_held = False
    reading.reader.want()
    assert reading.until(1) == [(1, True)]


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (b"", "the other end closed the connection"),
        (b"GF", "the other end closed the connection in the middle of a message"),
        (Frame(ODD, 1, []).pieces()[0], "it is odd"),
        (b"GET / HTTP/1.1", "what was received is not a frame"),
    ],
)
@pytest.mark.parametrize("who", ["reactor", "caller"])
def test_the_end_is_told_by_the_reactor(reading: Reading, last: bytes, why: str, who: str) -> None:
    reading.reader.begin(b"")
    reading.far.sendall(last)
    reading.far.close()
    if who == "caller":
        reading.read_for(1)
    reading.until(1)
    assert reading.why.startswith(why)


def test_a_reader_that_is_closed_lets_a_waiting_thread_go(reading: Reading) -> None:
    reading.reader.begin(b"")
    waiting = threading.Thread(target=reading.read_for, args=(1,))
    waiting.start()
    reading.reader.close()
    waiting.join(LONG)
    assert not waiting.is_alive()


def test_what_came_before_a_broken_connection_is_read(reading: Reading) -> None:
    reading.reader.begin(b"")
    reading.send_unseen((NOTE, 1))
    broken = BrokenPipeError("it broke")
    reading.reactor.soon(lambda: reading.reader.read_last(broken))
    assert reading.until(2) == [(1, True)]
    assert (reading.why, reading.cause) == ("the connection broke: it broke", broken)
