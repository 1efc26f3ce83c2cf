"""Passing calls on unopened, and what happens when somebody does not read."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.transport.backlog import MOST_BYTES
from runtime.transport.channel import Channel, Handler, IncomingCall
from runtime.transport.errors import ChannelClosed, NotSendable
from runtime.transport.lean import LeanChannel
from runtime.transport.messages import CALL, NOTE, Target
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream

LONG = 10.0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        threading.Event().wait(0.001)


def lengths(request: IncomingCall) -> Future[Any]:
    future: Future[Any] = Future(request)
    try:
        call = request.invocation()
        if call.operation == "fail":
            raise KeyError("at the end")
        future.set_result(("end", len(call.args[0]) if call.args else 0, call.client))
    except Exception as error:
        future.set_exception(error)
    return future


def to(**ends: Channel) -> Callable[[Target], Channel | None]:
    """Return what passes calls on to ends by the names of their components."""
    return lambda target: ends.get(target.component.removeprefix("/"))


class Star:
    """Two ends that only know the one in the middle."""

    def __init__(self, reactor: Reactor, handler: Handler | None = lengths) -> None:
        a, a_middle = MemoryStream.pair()
        b, b_middle = MemoryStream.pair()
        self.a = Channel(reactor, a, "middle").open()
        self.b = Channel(reactor, b, "middle", handler).open()
        self.to_b = Channel(reactor, b_middle, "b", send_limit=100_000).open()
        self.to_a = Channel(reactor, a_middle, "a", relay=to(b=self.to_b)).open()


class Unknown:
    """Cannot be opened by anybody: the module it names does not exist."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _never, ()


def _never() -> None:
    raise AssertionError("was opened on the way")


def test_a_call_is_passed_on_and_its_result_comes_back(reactor: Reactor) -> None:
    star = Star(reactor)
    call = Invocation("/b", "i", "op", (b"x" * 1000,), client="/a.out")
    assert star.a.call(call).result(LONG) == ("end", 1000, "/a.out")


def test_what_is_passed_on_is_not_opened_on_the_way(reactor: Reactor) -> None:
    star = Star(reactor)
    with pytest.raises(NotSendable, match="an argument of /b.i.op.*was opened on the way"):
        star.a.call(Invocation("/b", "i", "op", (Unknown(),))).result(LONG)


def test_an_exception_from_the_end_crosses_the_middle(reactor: Reactor) -> None:
    with pytest.raises(KeyError, match="at the end"):
        Star(reactor).a.call(Invocation("/b", "i", "fail")).result(LONG)


def test_a_call_for_nobody_fails_at_once(reactor: Reactor) -> None:
    with pytest.raises(Exception, match=r"nothing here serves /c\.i\.op"):
        Star(reactor).a.call(Invocation("/c", "i", "op")).result(LONG)


def test_when_the_end_is_lost_the_caller_learns_which_one(reactor: Reactor) -> None:
    star = Star(reactor, Future)
    waiting = star.a.call(Invocation("/b", "i", "op"))
    star.b.close()
    with pytest.raises(ChannelClosed) as caught:
        waiting.result(LONG)
    assert str(caught.value).startswith("b: the connection ended")
    assert "/b.i.op for a" in str(caught.value)
    with pytest.raises(ChannelClosed, match=r"/b\.i\.op for a"):
        star.a.call(Invocation("/b", "i", "op")).result(LONG)


def test_large_frames_are_passed_on_whole_and_in_order(reactor: Reactor) -> None:
    star = Star(reactor)
    calls = [Invocation("/b", "i", "op", (bytes(n * 100_000),)) for n in range(12)]
    futures = [star.a.call(call) for call in calls]
    assert [future.result(LONG)[1] for future in futures] == [n * 100_000 for n in range(12)]


def test_a_source_is_not_read_while_its_target_does_not_read(reactor: Reactor) -> None:
    """The end reads nothing: the middle must not hoard what the source sends."""
    a, a_middle = MemoryStream.pair()
    deaf, deaf_middle = MemoryStream.pair()
    to_deaf = Channel(reactor, deaf_middle, "deaf", send_limit=100_000).open()
    Channel(reactor, a_middle, "a", relay=to(deaf=to_deaf)).open()
    source = Channel(reactor, a, "middle", send_limit=100_000).open()
    sent = []

    def send() -> None:
        for number in range(40):
            source.note(Invocation("/deaf", "i", "op", (bytes(100_000),)))
            sent.append(number)

    sender = threading.Thread(target=send)
    sender.start()
    sender.join(0.3)
    assert sender.is_alive()
    assert len(sent) < 20
    assert to_deaf._outbox.size < 1_000_000
    listener = Channel(reactor, deaf, "middle").open()
    sender.join(LONG)
    assert len(sent) == 40
    listener.close()


class Crowd:
    """Two members that ask the same one through the middle; the first does not read."""

    def __init__(self, reactor: Reactor, size: int, patience: float = LONG) -> None:
        self.reactor = reactor
        self.asked = threading.Semaphore(0)
        self.results: list[Future[Any]] = []
        self.size = size
        deaf, deaf_middle = MemoryStream.pair()
        other, other_middle = MemoryStream.pair()
        end, end_middle = MemoryStream.pair()
        self.end = Channel(reactor, end, "middle", self._serve).open()
        self.to_end = Channel(reactor, end_middle, "end").open()
        self.to_deaf, self.to_other = (
            Channel(
                reactor,
                stream,
                name,
                relay=lambda _: self.to_end,
                send_limit=100_000,
                patience=patience,
            ).open()
            for stream, name in ((deaf_middle, "deaf"), (other_middle, "other"))
        )
        self.deaf = Channel(reactor, deaf, "middle")  # which is not opened
        self.other = Channel(reactor, other, "middle").open()

    def _serve(self, request: IncomingCall) -> Future[Any]:
        future: Future[Any] = Future(request)
        if request.target.operation == "wait":
            self.results.append(future)
            self.asked.release()
        else:
            future.set_result("heard")
        return future

    def answer_the_deaf(self, count: int) -> list[Future[Any]]:
        """Let it ask so often before the first answer comes; then answer all."""
        futures = [self.deaf.call(Invocation("/end", "i", "wait")) for _ in range(count)]
        for _ in range(count):
            assert self.asked.acquire(timeout=LONG)
        self.reactor.soon(self._answer)
        return futures

    def _answer(self) -> None:
        for result in self.results:
            result.set_result(bytes(self.size))

    def hear(self) -> object:
        return self.other.call(Invocation("/end", "i", "op")).result(LONG)


def test_who_does_not_read_results_passed_on_to_it_holds_nobody_up(reactor: Reactor) -> None:
    crowd = Crowd(reactor, 100_000)
    futures = crowd.answer_the_deaf(40)
    assert crowd.hear() == "heard"
    assert not crowd.to_deaf.is_closed
    assert crowd.to_deaf._outbox.size > 3_000_000
    crowd.deaf.open()
    assert [len(future.result(LONG)) for future in futures] == [100_000] * 40


def test_who_never_reads_results_passed_on_to_it_is_given_up(reactor: Reactor) -> None:
    crowd = Crowd(reactor, 100_000, patience=0.05)
    ended = threading.Event()
    crowd.to_deaf.when_closed(lambda _: ended.set())
    crowd.answer_the_deaf(40)
    assert ended.wait(LONG)
    assert crowd.hear() == "heard"


def test_the_memory_for_results_passed_on_is_bounded_and_its_end_lets_the_others_go(
    reactor: Reactor,
) -> None:
    crowd = Crowd(reactor, 2 << 20)
    crowd.answer_the_deaf(40)
    until(lambda: bool(crowd.to_end.flow.held_by))
    threading.Event().wait(0.2)  # in which more would come, were it let in
    assert MOST_BYTES < crowd.to_deaf._outbox.size < MOST_BYTES + (6 << 20)
    crowd.to_deaf.close()
    assert crowd.hear() == "heard"


def test_results_that_had_to_wait_come_once_the_others_are_read(reactor: Reactor) -> None:
    crowd = Crowd(reactor, 2 << 20)
    futures = crowd.answer_the_deaf(40)
    until(lambda: bool(crowd.to_end.flow.held_by))
    crowd.deaf.open()
    assert [len(future.result(LONG)) for future in futures] == [2 << 20] * 40
    assert crowd.hear() == "heard"


def test_a_sender_waits_while_nobody_reads_and_goes_on_when_somebody_does(
    reactor: Reactor,
) -> None:
    left, right = MemoryStream.pair()
    channel = Channel(reactor, left, "slow", send_limit=50_000).open()
    sent = []

    def send() -> None:
        for number in range(200):
            channel.note(Invocation("/x", "i", "op", (bytes(10_000),)))
            sent.append(number)

    sender = threading.Thread(target=send)
    sender.start()
    until(lambda: len(sent) >= 5)
    sender.join(0.2)
    assert sender.is_alive()
    assert len(sent) < 60
    reader = Channel(reactor, right, "fast", lambda _: None).open()
    sender.join(LONG)
    assert len(sent) == 200
    reader.close()


def test_what_is_said_now_never_waits_and_comes_in_order(reactor: Reactor) -> None:
    left, right = MemoryStream.pair()
    channel = Channel(reactor, left, "slow", send_limit=50_000).open()
    for number in range(200):
        channel.note(Invocation("/x", "i", str(number), (bytes(10_000),)), now=True)
    last = threading.Thread(target=channel.note, args=[Invocation("/x", "i", "last", ())])
    last.start()
    heard: list[str] = []
    all_heard = threading.Event()

    def hear(request: IncomingCall) -> None:
        heard.append(request.target.operation)
        if heard[-1] == "last":
            all_heard.set()

    reader = Channel(reactor, right, "fast", hear).open()
    assert all_heard.wait(LONG)
    last.join(LONG)
    assert heard == [*map(str, range(200)), "last"]
    reader.close()


def test_who_does_not_read_notes_holds_up_others_only_for_a_while(reactor: Reactor) -> None:
    to_deaf, deaf = MemoryStream.pair()
    to_middle, middle = MemoryStream.pair()
    heard: list[str] = []
    came = threading.Event()

    def hear(request: IncomingCall) -> None:
        heard.append(request.target.operation)
        came.set()

    onward = Channel(reactor, to_deaf, "deaf", send_limit=50_000, most_held=2.0).open()
    far = Channel(reactor, to_middle, "middle").open()
    source = Channel(reactor, middle, "far", hear, relay=to(deaf=onward)).open()

    def say(operation: str) -> None:
        for _ in range(200):
            far.note(Invocation("/deaf", "i", operation, (bytes(10_000),)))
        far.note(Invocation("/here", "i", operation))

    talking = threading.Thread(target=say, args=["first"])
    talking.start()
    until(lambda: onward.flow in source.flow.held_by)
    assert not heard
    assert came.wait(LONG)
    talking.join()
    came.clear()
    say("second")  # to which nobody needs to wait any more
    assert came.wait(LONG)
    assert heard == ["first", "second"]
    arrived: list[IncomingCall] = []
    Channel(reactor, deaf, "middle", arrived.append).open()
    until(lambda: len(arrived) == 400)
    until(lambda: not onward.flow.stands_still)


def test_a_sender_that_waits_is_let_go_when_the_connection_ends(reactor: Reactor) -> None:
    left, right = MemoryStream.pair()
    channel = Channel(reactor, left, "slow").open()
    failed: list[BaseException] = []

    def send() -> None:
        try:
            channel.note(Invocation("/x", "i", "op", (bytearray(1 << 20),)))
        except ChannelClosed as error:
            failed.append(error)

    # A numpy array or a PickleBuffer leaves without a copy, so its sender waits for it.
    def send_buffer() -> None:
        outcome = channel.call(
            Invocation("/x", "i", "op", (pickle.PickleBuffer(bytearray(1 << 20)),))
        )
        failed.append(outcome.exception(LONG) or AssertionError("no failure"))

    threads = [threading.Thread(target=send_buffer)]
    threads[0].start()
    threads[0].join(0.1)
    assert threads[0].is_alive()
    right.close()
    threads[0].join(LONG)
    assert isinstance(failed[0], ChannelClosed)
    send()
    assert isinstance(failed[1], ChannelClosed)


def test_a_lean_end_calls_and_is_called(reactor: Reactor, stack: ExitStack) -> None:
    left, right = socket.socketpair()
    lean = LeanChannel(left, "front-end")
    stack.callback(lean.close)
    channel = Channel(reactor, SocketStream(right), "0:0:1", lengths).open()
    stack.callback(channel.close)
    assert lean.call(Target("/b", "srv", "ready"), b"info") == ("end", 4, "")
    with pytest.raises(KeyError, match="at the end"):
        lean.call(Target("/b", "srv", "fail"))

    asked = channel.call(Invocation("/rank", "wrapper", "go", (1,), {"when": "now"}))
    frame = lean.receive(LONG)
    target, args, kwargs = lean.opened(frame)
    assert (frame.kind, str(target), args, kwargs) == (
        CALL, "/rank.wrapper.go", (1,), {"when": "now"},
    )  # fmt: skip
    lean.answer(frame, "gone")
    assert asked.result(LONG) == "gone"


def test_a_lean_end_keeps_what_comes_while_it_waits(reactor: Reactor, stack: ExitStack) -> None:
    left, right = socket.socketpair()
    lean = LeanChannel(left, "front-end")
    stack.callback(lean.close)

    def note_first(request: IncomingCall) -> Future[Any]:
        channel.note(Invocation("/rank", "wrapper", "news", ("first",)))
        return lengths(request)

    channel = Channel(reactor, SocketStream(right), "0:0:1", note_first).open()
    stack.callback(channel.close)
    assert lean.call(Target("/b", "srv", "ready")) == ("end", 0, "")
    frame = lean.receive(LONG)
    assert frame.kind == NOTE
    assert lean.opened(frame)[1] == ("first",)


def test_a_lean_end_refuses_a_call_with_an_exception(reactor: Reactor, stack: ExitStack) -> None:
    left, right = socket.socketpair()
    lean = LeanChannel(left, "front-end")
    stack.callback(lean.close)
    channel = Channel(reactor, SocketStream(right), "0:0:1").open()
    stack.callback(channel.close)
    asked = channel.call(Invocation("/rank", "wrapper", "go"))
    lean.answer(lean.receive(LONG), ValueError("not ready"))
    with pytest.raises(ValueError, match="not ready"):
        asked.result(LONG)


def test_a_lean_end_gives_up_in_time_and_notices_the_end(
    reactor: Reactor, stack: ExitStack
) -> None:
    left, right = socket.socketpair()
    lean = LeanChannel(left, "front-end")
    stack.callback(lean.close)
    channel = Channel(reactor, SocketStream(right), "0:0:1", Future).open()
    with pytest.raises(TimeoutError, match=r"front-end did not answer /b\.srv\.ready in time"):
        lean.call(Target("/b", "srv", "ready"), timeout=0.02)
    channel.close()
    with pytest.raises(ChannelClosed, match="ended while a message was awaited"):
        lean.receive(LONG)
