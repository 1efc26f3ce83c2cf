"""Members that have lost their minds: whatever they send, a channel serves on or ends, in order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from gcm.invocation import Invocation
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.frames import Frame
from runtime.transport.messages import CALL, FAILURE, NOTE, RESULT, Target, call_frame, result_frame
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor

if TYPE_CHECKING:
    from tests.fuzz.conftest import Break

LONG = 10.0
MOST = 100_000


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with Reactor() as made:
        yield made


def written(frame: Frame) -> bytes:
    return frame.head() + b"".join(frame.parts)


def valid() -> bytes:
    """Return what a member in its right mind sends; nothing of it is opened."""
    there = Target("/it", "i", "op", "/me.out")
    sent = [
        call_frame(CALL, 1, there, ((1, bytes(300)), {})),
        call_frame(NOTE, 0, there, ((), {"a": 1})),
        Frame(RESULT, 99, [b"", b"for nobody"]),
        Frame(FAILURE, 98, [b""]),
        call_frame(CALL, 2, there, ((), {})),
    ]
    return b"".join(map(written, sent))


def closing(channel: Channel) -> threading.Event:
    closed = threading.Event()
    channel.when_closed(lambda _: closed.set())
    return closed


def test_whatever_comes_is_served_or_ends_the_channel(
    reactor: Reactor, caplog: pytest.LogCaptureFixture, broken: Break
) -> None:
    calls: list[str] = []

    def serve(request: IncomingCall) -> None:
        calls.append(str(request))

    for seed in range(300):
        stream, mad = MemoryStream.pair()
        channel = Channel(reactor, stream, f"mad {seed}", serve, most_bytes=MOST).open()
        closed = closing(channel)
        awaited = channel.call(Invocation("/mad", "i", "op"))
        mad.send([memoryview(broken(valid(), seed))])
        mad.close()
        assert closed.wait(LONG)
        assert awaited.exception(LONG) is not None or awaited.result() is None
    assert calls
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    "answer",
    [
        Frame(RESULT, 1, []),
        Frame(RESULT, 1, [b""]),
        Frame(RESULT, 1, [b"", b"no pickle"]),
        Frame(FAILURE, 1, []),
        Frame(FAILURE, 1, [b"", b"no pickle", b"kind", b"words", b"trace"]),
        Frame(FAILURE, 1, [b"", b"", b"\xff", b"\xff", b"\xff"]),
    ],
    ids=["no result", "no value", "no pickle", "no failure", "no exception", "no words"],
)
def test_an_answer_that_makes_no_sense_fails_its_call_only(
    reactor: Reactor, answer: Frame, caplog: pytest.LogCaptureFixture
) -> None:
    stream, mad = MemoryStream.pair()
    channel = Channel(reactor, stream, "mad").open()
    first = channel.call(Invocation("/mad", "i", "op"))
    mad.send([memoryview(written(answer))])
    assert first.exception(LONG) is not None
    second = channel.call(Invocation("/mad", "i", "op"))
    mad.send([memoryview(written(result_frame(2, "sane")))])
    assert second.result(LONG) == "sane"
    assert not caplog.records
    channel.close()
