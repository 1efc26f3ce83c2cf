"""What channels promise over every stream, as tests that any transport's stream can be asked."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.errors import ChannelClosed, NotSendable, RemoteError, RemoteTraceback
from runtime.transport.frames import AT_ONCE, STAGE
from runtime.transport.messages import result_frame
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream

LONG = 10.0


@dataclass
class Ends:
    """Two channels that talk to each other; `serve` is what the right one does."""

    left: Channel
    right: Channel
    notes: list[Invocation] = field(default_factory=list)

    def ask(self, operation: str, *args: Any, **kwargs: Any) -> Any:
        return self.left.ask(Invocation("/it", "i", operation, args, kwargs))


class Server:
    """Serves the operations of the tests, in threads of its own."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.notes: list[Invocation] = []
        self.noted = threading.Event()
        self.threads: list[threading.Thread] = []

    def __call__(self, request: IncomingCall) -> Future[Any] | IncomingCall | None:
        if request.is_note:
            self.notes.append(request.invocation())
            self.noted.set()
            return None
        if request.target.operation == "nothing":
            return None
        if request.target.operation == "never":
            return Future("it for ever")
        if request.target.operation == "by_itself":
            self.run(lambda: request.answer(None, request.arguments()))
            return request
        if request.target.operation == "not_by_itself":
            self.run(lambda: request.answer(KeyError("the key"), None))
            return request
        future: Future[Any] = Future(request)

        def work() -> None:
            call = request.invocation()
            try:
                future.set_result(getattr(self, call.operation)(*call.args, **call.kwargs))
            except BaseException as error:
                future.set_exception(error)

        self.run(work)
        return future

    def run(self, work: Callable[[], object]) -> None:
        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def end(self) -> None:
        for thread in self.threads:
            thread.join()

    def echo(self, *args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    def fail(self) -> Any:
        raise KeyError("the key")

    def fail_oddly(self) -> Any:
        class Odd(Exception):
            pass

        raise Odd("only I know me")

    def leave(self) -> Any:
        raise SystemExit(3)

    def secret(self) -> Any:
        return threading.Lock()

    def wait(self) -> str:
        assert self.release.wait(LONG)
        return "at last"


def _closing(channel: Channel) -> threading.Event:
    closed = threading.Event()
    channel.when_closed(lambda _: closed.set())
    return closed


class StreamContract:
    """What channels promise; a subclass gives a pair of connected streams as the fixture `streams`.

    >>> class TestMine(StreamContract):  # doctest: +SKIP
    ...     @pytest.fixture
    ...     def streams(self):
    ...         return my_stream(), its_other_end()
    """

    @pytest.fixture
    def server(self) -> Server:
        return Server()

    @pytest.fixture
    def reactor(self) -> Iterator[Reactor]:
        with Reactor() as made:
            yield made

    @pytest.fixture
    def ends(
        self, streams: tuple[ByteStream, ByteStream], reactor: Reactor, server: Server
    ) -> Iterator[Ends]:
        with ExitStack() as stack:
            left_stream, right_stream = streams
            left = Channel(reactor, left_stream, "right")
            right = Channel(reactor, right_stream, "left", server)
            for channel in (left, right):
                stack.callback(channel.close)
                channel.open()
            stack.callback(server.end)
            yield Ends(left, right)

    def test_a_call_brings_its_arguments_there_and_the_result_back(self, ends: Ends) -> None:
        assert ends.ask("echo", 1, "two", three=[3]) == ((1, "two"), {"three": [3]})

    def test_a_handler_without_a_future_answers_none(self, ends: Ends) -> None:
        assert ends.ask("nothing") is None

    def test_a_handler_may_answer_a_request_itself(self, ends: Ends) -> None:
        assert ends.ask("by_itself", 1, two=2) == ((1,), {"two": 2})
        with pytest.raises(KeyError, match="the key"):
            ends.ask("not_by_itself")

    def test_calls_overtake_one_that_waits(self, ends: Ends, server: Server) -> None:
        slow = ends.left.call(Invocation("/it", "i", "wait"))
        assert ends.ask("echo") == ((), {})
        assert not slow.done()
        server.release.set()
        assert slow.result(LONG) == "at last"

    def test_large_buffers_arrive_whole_and_can_be_written_to(self, ends: Ends) -> None:
        numpy = pytest.importorskip("numpy")
        sent = numpy.arange(1_000_000)
        (received,), _ = ends.ask("echo", sent)
        assert (received == sent).all()
        received[0] = 17
        assert sent[0] == 0

    def test_many_threads_call_at_once_and_each_gets_its_own_result(self, ends: Ends) -> None:
        wrong: list[Any] = []

        def call(number: int) -> None:
            for turn in range(20):
                sent = bytes([number]) * (turn * 2000)
                if ends.ask("echo", number, sent) != ((number, sent), {}):
                    wrong.append((number, turn))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []

    def test_an_exception_comes_back_as_itself_with_the_remote_traceback(self, ends: Ends) -> None:
        with pytest.raises(KeyError, match="the key") as caught:
            ends.ask("fail")
        cause = caught.value.__cause__
        assert isinstance(cause, RemoteTraceback)
        assert "Remote traceback of right" in str(cause)
        assert 'raise KeyError("the key")' in str(cause)

    def test_an_exception_that_cannot_be_rebuilt_still_tells_its_words(self, ends: Ends) -> None:
        with pytest.raises(RemoteError) as caught:
            ends.ask("fail_oddly")
        assert caught.value.kind.endswith("Odd")
        assert caught.value.text == "only I know me"
        assert 'raise Odd("only I know me")' in str(caught.value)
        assert str(caught.value).startswith("right: ")

    def test_a_remote_exit_does_not_end_the_caller(self, ends: Ends) -> None:
        with pytest.raises(RemoteError, match="SystemExit: 3"):
            ends.ask("leave")

    def test_an_argument_that_cannot_be_sent_fails_the_call_only(self, ends: Ends) -> None:
        with pytest.raises(NotSendable, match="an argument of /it.i.echo: cannot be sent"):
            ends.ask("echo", threading.Lock())
        assert ends.ask("echo") == ((), {})

    def test_a_result_that_cannot_be_sent_fails_the_call_only(self, ends: Ends) -> None:
        with pytest.raises(NotSendable, match="the result of /it.i.secret: cannot be sent"):
            ends.ask("secret")
        assert ends.ask("echo") == ((), {})

    def test_a_note_arrives_without_an_answer(self, ends: Ends, server: Server) -> None:
        ends.left.note(Invocation("/it", "i", "news", (1,), {"two": 2}, client="/me.out"))
        assert server.noted.wait(LONG)
        assert server.notes == [Invocation("/it", "i", "news", (1,), {"two": 2}, "/me.out")]

    def test_when_the_other_end_hangs_up_the_waiting_calls_name_it(self, ends: Ends) -> None:
        waiting = ends.left.call(Invocation("/it", "i", "never"))
        assert ends.ask("nothing") is None
        ends.right.close()
        with pytest.raises(ChannelClosed) as caught:
            waiting.result(LONG)
        assert str(caught.value) == (
            "right: the connection ended, so there is no result of /it.i.never at right\n"
            "    the other end closed the connection"
        )

    def test_who_waits_when_the_other_end_hangs_up_is_told(
        self, ends: Ends, reactor: Reactor
    ) -> None:
        reactor.later(0.05, ends.right.close)
        with pytest.raises(ChannelClosed, match=r"at right\n.*closed the connection"):
            ends.ask("never")

    def test_a_result_may_come_while_its_caller_waits_or_before(self, ends: Ends) -> None:
        first = ends.left.call(Invocation("/it", "i", "echo", (1,)))
        assert ends.ask("echo", 2) == ((2,), {})
        assert first.result(LONG) == ((1,), {})

    def test_a_closed_channel_refuses_calls_and_notes_at_once(self, ends: Ends) -> None:
        closed = _closing(ends.left)
        ends.left.close()
        assert closed.wait(LONG)
        assert ends.left.is_closed
        failed = ends.left.call(Invocation("/it", "i", "echo"))
        with pytest.raises(ChannelClosed, match="it was closed on this side"):
            failed.result(0)
        with pytest.raises(ChannelClosed, match="it was closed on this side"):
            ends.ask("echo")
        with pytest.raises(ChannelClosed, match=r"/it\.i\.echo"):
            ends.left.note(Invocation("/it", "i", "echo"))

    def test_who_asks_after_the_end_is_told_at_once(self, ends: Ends) -> None:
        assert _closing(ends.left).is_set() is False
        ends.left.close()
        closed = _closing(ends.left)
        assert closed.wait(LONG)
        assert _closing(ends.left).is_set()

    def test_what_was_sent_before_closing_still_arrives(self, ends: Ends, server: Server) -> None:
        ends.left.note(Invocation("/it", "i", "news", (b"x" * 3_000_000,)))
        ends.left.close()
        assert server.noted.wait(LONG)
        assert len(server.notes[0].args[0]) == 3_000_000

    @pytest.mark.parametrize("size", [0, 1, STAGE - 1, STAGE, STAGE + 1, AT_ONCE + 1])
    def test_payloads_of_all_sizes_arrive_whole(self, ends: Ends, size: int) -> None:
        sent = pickle.PickleBuffer(bytearray(os.urandom(1) * size))
        (received,), _ = ends.ask("echo", sent)
        assert memoryview(received) == memoryview(sent)

    def test_notes_arrive_in_the_order_in_which_they_were_sent(
        self, ends: Ends, server: Server
    ) -> None:
        for number in range(60):
            ends.left.note(Invocation("/it", "i", "news", (number, bytes(number % 7 * 20_000))))
        assert ends.ask("nothing") is None
        assert [one.args[0] for one in server.notes] == list(range(60))

    def test_who_waits_no_longer_than_a_while_may_still_get_the_result_later(
        self, ends: Ends, server: Server
    ) -> None:
        slow = ends.left.call(Invocation("/it", "i", "wait"))
        with pytest.raises(TimeoutError):
            slow.result(0.05)
        server.release.set()
        assert slow.result(LONG) == "at last"

    def test_a_sender_waits_while_nobody_reads_and_keeps_no_more_than_it_may(
        self, streams: tuple[ByteStream, ByteStream], reactor: Reactor, server: Server
    ) -> None:
        left = Channel(reactor, streams[0], "right", send_limit=200_000).open()
        right = Channel(reactor, streams[1], "left", server)
        begun = []

        def send() -> None:
            for number in range(200):
                begun.append(number)
                left.note(Invocation("/it", "i", "news", (bytes(100_000),)))

        sender = threading.Thread(target=send)
        sender.start()
        sender.join(0.3)
        assert sender.is_alive()
        assert len(begun) < 150  # what the system keeps on its way is up to it
        assert left._outbox.size < 400_000
        right.open()
        sender.join(LONG)
        assert left.call(Invocation("/it", "i", "nothing")).result(LONG) is None
        assert len(server.notes) == len(begun) == 200
        for channel in (left, right):
            channel.close()

    def test_a_connection_that_is_lost_in_the_middle_of_a_message_says_so(
        self, streams: tuple[ByteStream, ByteStream], reactor: Reactor
    ) -> None:
        def answer_half(request: IncomingCall) -> Future[Any]:
            frame = result_frame(1, bytes(1000))
            whole = frame.head() + b"".join(frame.parts)
            assert streams[1].send([memoryview(whole)[:-1]]) == len(whole) - 1
            streams[1].close()
            return Future(request)

        left = Channel(reactor, streams[0], "right").open()
        Channel(reactor, streams[1], "left", answer_half).open()
        waiting = left.call(Invocation("/it", "i", "op"))
        with pytest.raises(ChannelClosed) as caught:
            waiting.result(LONG)
        assert str(caught.value) == (
            "right: the connection ended, so there is no result of /it.i.op at right\n"
            "    the other end closed the connection in the middle of a message"
        )

    def test_bytes_and_messages_are_counted(self, ends: Ends, server: Server) -> None:
        ends.ask("echo", b"x" * 100_000)
        assert (ends.left.messages, ends.right.messages) == (2, 2)
        ends.left.note(Invocation("/it", "i", "news"))
        assert server.noted.wait(LONG)
        assert (ends.left.messages, ends.right.messages) == (3, 3)
        assert ends.left.sent_bytes > 100_000
        assert ends.left.received_bytes > 100_000
        assert ends.left.sent_bytes == ends.right.received_bytes
