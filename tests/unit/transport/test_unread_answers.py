"""A member that asks and asks, and does not read what it is told: what it costs, and its end."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.transport.backlog import MOST_BYTES, MOST_UNANSWERED, Backlog
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.errors import ChannelClosed
from runtime.transport.frames import Frame, FrameReader
from runtime.transport.messages import CALL, FAILURE, PLAIN, Target, call_frame, result_frame
from runtime.transport.outbox import Outbox
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream, SocketStream

LONG = 10.0
SHORT = 0.05
LIMIT = 50_000
CALLS = 600


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The end of a member that does what it likes, and the one of who serves it."""
    member, serving = socket.socketpair()
    for end in (member, serving):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    member.settimeout(LONG)
    with member:
        yield member, serving


@pytest.fixture
def member(ends: tuple[socket.socket, socket.socket]) -> socket.socket:
    return ends[0]


@pytest.fixture
def stream(ends: tuple[socket.socket, socket.socket]) -> SocketStream:
    return SocketStream(ends[1])


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        threading.Event().wait(0.001)


def calls(count: int, value: bytes = b"") -> bytes:
    target = Target("/here", "port", "op")
    return b"".join(joined(call_frame(CALL, n, target, ((value,), {}))) for n in range(count))


def joined(frame: Frame) -> bytes:
    return b"".join([frame.head(), *frame.parts])


def read_answers(member: socket.socket, count: int) -> list[Frame]:
    reader, found = FrameReader(), list[Frame]()
    while len(found) < count:
        received = member.recv_into(reader.space())
        assert received, "the connection has ended"
        found += reader.filled(received)
    return found


class Serving:
    """A channel that answers on the reactor's thread, at once, and counts what it serves."""

    def __init__(self, reactor: Reactor, stream: ByteStream, patience: float = LONG) -> None:
        self.count = 0
        self.reactor = reactor
        self.channel = Channel(
            reactor, stream, "the member", self.serve, send_limit=LIMIT, patience=patience
        ).open()

    def serve(self, _: IncomingCall) -> Future[Any] | None:
        self.count += 1
        raise KeyError("nothing of that kind " + "is here " * 100)

    def received(self, sent: bytes) -> None:
        """Wait until all that was sent has been looked at."""
        until(lambda: self.channel.received_bytes == len(sent))
        done = threading.Event()
        self.reactor.soon(done.set)
        assert done.wait(LONG)


def test_who_reads_no_answers_is_not_served_until_it_does(
    reactor: Reactor, member: socket.socket, stream: ByteStream
) -> None:
    serving = Serving(reactor, stream)
    sent = calls(CALLS)
    member.sendall(sent)
    serving.received(sent)
    assert 0 < serving.count < CALLS // 2
    assert serving.channel._outbox.size < 2 * LIMIT
    answers = read_answers(member, CALLS)
    assert [answer.number for answer in answers] == list(range(CALLS))
    assert {answer.kind for answer in answers} == {FAILURE}
    assert serving.count == CALLS
    assert not serving.channel.is_closed
    serving.channel.close()


def test_results_are_heard_from_who_is_not_served(
    reactor: Reactor, member: socket.socket, stream: ByteStream
) -> None:
    serving = Serving(reactor, stream)
    asked = serving.channel.call(Invocation("/there", "port", "op"))
    sent = calls(CALLS) + joined(result_frame(1, "heard"))
    member.sendall(sent)
    assert asked.result(LONG) == "heard"
    assert serving.count < CALLS
    serving.channel.close()


def test_nothing_more_is_read_once_too_much_is_kept(
    reactor: Reactor, member: socket.socket, stream: ByteStream
) -> None:
    serving = Serving(reactor, stream)
    large = calls(100, bytes(1 << 20))
    before = calls(CALLS)
    sender = threading.Thread(target=member.sendall, args=(before + large,))
    sender.start()
    until(lambda: serving.channel._backlog.is_full)
    serving.received(before + large[: serving.channel.received_bytes - len(before)])
    assert serving.channel.received_bytes < len(before) + MOST_BYTES + (4 << 20)
    assert sender.is_alive()
    assert len(read_answers(member, CALLS + 100)) == CALLS + 100
    sender.join(LONG)
    assert not sender.is_alive()
    serving.channel.close()


def test_who_never_reads_is_given_up(
    reactor: Reactor, member: socket.socket, stream: ByteStream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    serving = Serving(reactor, stream, patience=SHORT)
    ended: list[ChannelClosed] = []
    serving.channel.when_closed(ended.append)
    member.sendall(calls(CALLS))
    until(lambda: serving.channel.is_closed)
    until(lambda: bool(ended))
    assert str(ended[0]) == "the member: it has read no answers to its calls for 0.05 s"
    assert "the connection to the member is given up: it has read no answers" in caplog.text


class Answering:
    """A backlog whose answers are written by threads, into a stream that nobody reads."""

    def __init__(self, reactor: Reactor, patience: float = LONG) -> None:
        self.stream, self.other = MemoryStream.pair()
        self.given_up: list[str] = []
        self.room = threading.Event()
        self.outbox = Outbox(self.stream, self.room.set, LIMIT)
        self.backlog = Backlog[IncomingCall](
            reactor, self.outbox, self.given_up.append, most_unanswered=2, patience=patience
        )
        self.request = IncomingCall(
            call_frame(CALL, 1, Target("/here", "port", "op"), ((), {})),
            Channel(reactor, self.stream, "nobody"),
            PLAIN,
        )

    def fill(self) -> threading.Thread:
        """Leave a thread behind that waits to put an answer."""
        self.outbox.put_now([bytes(1 << 18), bytes(LIMIT + 1)])
        writer = threading.Thread(target=self.outbox.put, args=([b"x"],), kwargs={"answer": True})
        writer.start()
        until(lambda: self.outbox.has_waiting_answers)
        return writer

    def read(self) -> None:
        """Read what is there and send what waits."""
        space = memoryview(bytearray(1 << 20))
        while self.other.receive_into(space):
            self.outbox.flush()


def test_calls_are_kept_while_several_are_unanswered_and_an_answer_waits(reactor: Reactor) -> None:
    answering = Answering(reactor)
    writer = answering.fill()
    backlog = answering.backlog
    backlog.begun()
    assert not backlog.keeps(answering.request, answering.request.frame.size)
    backlog.begun()
    assert backlog.keeps(answering.request, answering.request.frame.size)
    backlog.answered()
    assert backlog.keeps(answering.request, answering.request.frame.size), "calls stay in order"
    assert backlog.take() is answering.request
    backlog.begun()
    assert backlog.take() is None
    answering.room.clear()
    answering.read()
    writer.join(LONG)
    assert answering.room.wait(LONG), "the reactor is told that there is room for answers"
    assert backlog.take() is answering.request
    assert not backlog.keeps(answering.request, answering.request.frame.size)


def test_many_unanswered_calls_are_no_reason_while_there_is_room(reactor: Reactor) -> None:
    answering = Answering(reactor)
    for _ in range(MOST_UNANSWERED):
        answering.backlog.begun()
    assert not answering.backlog.keeps(answering.request, answering.request.frame.size)


def test_who_reads_a_little_from_time_to_time_is_not_given_up(reactor: Reactor) -> None:
    patience = 1.0
    answering = Answering(reactor, patience=patience)
    writer = answering.fill()
    backlog = answering.backlog
    backlog.begun()
    backlog.begun()
    assert backlog.keeps(answering.request, answering.request.frame.size)
    looked = threading.Event()
    reactor.later(patience * 0.5, answering.read)
    reactor.later(patience * 1.2, looked.set)
    assert looked.wait(LONG)
    writer.join(LONG)
    assert answering.given_up == []
    backlog.end()


def test_answers_count_until_they_have_left(reactor: Reactor) -> None:
    answering = Answering(reactor)
    outbox = answering.outbox

    def counts(size: int, *, answer: bool) -> bool:
        for _ in range(4):
            outbox.put_now([bytes(size)], answer=answer)
        return outbox.surplus > 0

    assert counts(1 << 17, answer=True)
    answering.read()
    assert not counts(0, answer=True)
    assert not counts(1 << 20, answer=False)
