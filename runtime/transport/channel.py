"""The channel: calls in both directions between two processes, over one stream."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.transitions import change
from runtime.transport.backlog import UNREAD_SECONDS, Backlog
from runtime.transport.channel_reader import ChannelReader
from runtime.transport.errors import ChannelClosed, FrameError, NotSendable, TransportError
from runtime.transport.frames import MOST_BYTES, Frame
from runtime.transport.held_flow import HeldFlow
from runtime.transport.messages import (
    CALL,
    FAILURE,
    NOTE,
    PLAIN,
    RESULT,
    Codec,
    Target,
    arguments_of,
    call_frame,
    failure_frame,
    outcome_of,
    result_frame,
    target_of,
)
from runtime.transport.outbox import SEND_LIMIT, Outbox
from runtime.transport.pending_calls import BlockingCall, CallFuture, PendingCalls
from runtime.transport.reactor import Reactor, Timer
from runtime.transport.streams import ByteStream

_log = logging.getLogger(__name__)

_LINGER_SECONDS = 2.0


class IncomingCall:
    """A call that came in: where it goes is known, its arguments are not opened yet."""

    __slots__ = ("channel", "codec", "frame", "target")

    def __init__(self, frame: Frame, channel: Channel, codec: Codec) -> None:
        self.frame = frame
        self.codec = codec
        """Opens the arguments and writes the result; who serves the call may choose another."""
        self.channel = channel
        self.target: Target = target_of(frame)

    @property
    def is_note(self) -> bool:
        """Whether nobody waits for an answer."""
        return self.frame.kind == NOTE

    def answer(self, error: BaseException | None, result: Any) -> None:
        """Say what became of it, once, in any thread; its handler has returned the request then."""
        self.channel.answer(self, error, result)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Open the arguments; that may import modules, so do it off the reactor's thread.

        Raises:
            NotSendable: they cannot be rebuilt in this process.
        """
        return arguments_of(self.frame, self.codec)

    def invocation(self) -> Invocation:
        """Open the arguments and return the call; raises like `arguments`."""
        args, kwargs = self.arguments()
        to = self.target
        return Invocation(
            to.component, to.interface, to.operation, args, kwargs, to.client, to.chain
        )

    def __str__(self) -> str:
        """Return where the call goes."""
        return str(self.target)


class ChannelStage(StrEnum):
    """Where a channel is; ENDED is final."""

    NEW = "new"
    """Nothing is read of it yet; what is sent waits in the system."""
    OPEN = "open"
    CLOSING = "closing"
    """It was closed on this side, and ends once everything that was sent has left."""
    ENDED = "ended"


class ChannelEvent(StrEnum):
    """What happens to a channel."""

    BEGUN = "the reactor reads it"
    CLOSED = "it was closed on this side"
    ENDED = "the connection has ended"


_S, _E = ChannelStage, ChannelEvent
TRANSITIONS: dict[tuple[ChannelStage, ChannelEvent], ChannelStage] = {
    (_S.NEW, _E.BEGUN): _S.OPEN,
    **{(one, _E.CLOSED): _S.CLOSING for one in (_S.NEW, _S.OPEN)},
    **{(one, _E.ENDED): _S.ENDED for one in (_S.NEW, _S.OPEN, _S.CLOSING)},
}
"""What each event leads to in each stage; a pair without a row changes nothing."""


Handler = Callable[[IncomingCall], Future[Any] | IncomingCall | None]
"""What serves the calls that come in; it is called on the reactor's thread and must not wait.

It returns the future of the result, or the request itself, which is answered by its method then.
"""

Relay = Callable[[Target], "Channel | None"]
"""Tells over which other channel a call goes on, unopened; None: it is for here.

It raises what the caller gets if the peer may not make this call.
"""


class Channel:
    """A `Caller` whose components live in another process.

    Any thread may call. A thread whose call finds more than `send_limit` bytes waiting to leave
    waits too, and so does one that sends large arrays, until they have left; calls made on the
    reactor's thread never wait. A peer that does not read its answers is served no more calls than
    `Backlog` says, and given up in the end. Where notes are passed on to a peer that does not read,
    those they come from are not read either; but if the notes are bounded by who sends them, only
    until nothing has left for `most_held` seconds: they bring words for others too. When the
    connection ends, every call that waits fails with `ChannelClosed`, which names the peer and what
    was awaited.

    >>> channel = Channel(reactor, SocketStream(connected), "0:1", serve).open()  # doctest: +SKIP
    >>> channel.call(Invocation("/app/worker", "work", "step", (1,))).result()    # doctest: +SKIP
    """

    def __init__(
        self,
        reactor: Reactor,
        stream: ByteStream,
        peer: str,
        handler: Handler | None = None,
        *,
        relay: Relay | None = None,
        codec: Codec = PLAIN,
        most_bytes: int = MOST_BYTES,
        send_limit: int = SEND_LIMIT,
        patience: float = UNREAD_SECONDS,
        most_held: float | None = None,
    ) -> None:
        self._reactor = reactor
        self._stream = stream
        self._handler = handler
        self._relay = relay
        self._codec = codec
        self._outbox = Outbox(stream, partial(reactor.soon, self._writable), send_limit)
        self._backlog = Backlog[IncomingCall](
            reactor, self._outbox, self.give_up, patience=patience
        )
        self._reader = ChannelReader(reactor, stream, self._outbox, self, most_bytes)
        self._lock = threading.Lock()
        self._pending = PendingCalls()
        self._ended: ChannelClosed | None = None
        self._stage = ChannelStage.NEW
        self._linger: Timer | None = None
        self._when_closed: list[Callable[[ChannelClosed], None]] = []
        self.flow = HeldFlow(reactor, self._outbox, self._backlog, self._reader.want, most_held)
        self.peer = peer
        self._received = 0

    # -- for those who call ----------------------------------------------------------------------

    def open(self, received: bytes = b"") -> Channel:
        """Begin to read; `received` is what came with the handshake."""
        self._reactor.soon(lambda: self._begin(received))
        return self

    def call(self, invocation: Invocation, codec: Codec | None = None) -> Future[Any]:
        """Send `invocation` off and return the future of its result.

        With a `codec` of its own the arguments are written and the result is opened with that: who
        answers may be somebody behind the peer who is trusted more, or less.
        """
        codec = codec or self._codec
        answer = CallFuture(invocation, self.peer, codec, self._reader)
        try:
            self._ask(answer, invocation, codec)
        except (NotSendable, FrameError) as error:
            answer.set_exception(error)
        return answer

    def ask(self, invocation: Invocation, codec: Codec | None = None) -> Any:
        """Send `invocation` off and return its result, which this thread receives if it can.

        Raises:
            ChannelClosed: the connection has ended.
            NotSendable: an argument cannot be pickled.
            Exception: what the call raised.
        """
        codec = codec or self._codec
        asked = BlockingCall(invocation, self.peer)
        self._ask(asked, invocation, codec)
        return outcome_of(asked.awaited(self._reader), self.peer, codec)

    def _ask(self, asked: CallFuture | BlockingCall, invocation: Invocation, codec: Codec) -> None:
        number = asked.number = self._pending.add(asked)
        if not number:
            return
        try:
            given = invocation.args, invocation.kwargs
            self._send(call_frame(CALL, number, invocation, given, codec))
        except Exception:
            if self._pending.withdraw(number):
                raise

    def note(self, invocation: Invocation, *, now: bool = False) -> None:
        """Send `invocation` off without ever hearing what became of it.

        With `now`, the caller does not wait on any thread, however much has still to leave.

        Raises:
            ChannelClosed: the connection has ended.
            NotSendable: an argument cannot be pickled.
        """
        given = invocation.args, invocation.kwargs
        if not self._send(call_frame(NOTE, 0, invocation, given, self._codec), now=now):
            assert self._ended is not None
            raise self._ended.without_result_of(invocation)

    def close(self) -> None:
        """Hang up once everything that was sent has left, or after two seconds; twice is once."""
        self._reactor.soon(self._close)

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return self._ended is not None

    @property
    def received_bytes(self) -> int:
        """How many bytes have come."""
        return self._reader.received_bytes

    @property
    def sent_bytes(self) -> int:
        """How many bytes have left."""
        return self._outbox.sent

    @property
    def unsent_bytes(self) -> int:
        """How many bytes have still to leave."""
        return self._outbox.size

    @property
    def messages(self) -> int:
        """How many messages went over it in both directions: calls, notes, and their answers."""
        return self._outbox.frames + self._received

    def when_closed(self, call: Callable[[ChannelClosed], None]) -> None:
        """Call once the connection has ended, from the reactor's thread; at once if it has."""
        with self._lock:
            if self._ended is None:
                self._when_closed.append(call)
                return
            ended = self._ended
        call(ended)

    def __repr__(self) -> str:
        """Return the peer and the state."""
        return f"<channel to {self.peer}, {self._stage}>"

    def __str__(self) -> str:
        """Return what the log calls it."""
        return f"the channel to {self.peer}"

    # -- sending ---------------------------------------------------------------------------------

    def _send(
        self, frame: Frame, *, owned: bool = False, answer: bool = False, now: bool = False
    ) -> bool:
        parts = frame.pieces()
        if owned or now or self._reactor.is_own_thread():
            return self._outbox.put_now(parts, owned=owned, answer=answer)
        return self._outbox.put(parts, answer=answer)

    def _writable(self) -> None:
        if self._ended is not None:
            return
        try:
            self._outbox.flush()
        except OSError as error:
            self._reader.read_last(error)
            return
        self.flow.release()
        while (request := self._backlog.take()) is not None:
            self._admit(request)
        self._reader.want()
        if self._stage is ChannelStage.CLOSING and not self._outbox.size:
            self.handle_end("it was closed on this side")

    # -- receiving, on the reactor's thread ------------------------------------------------------

    def _begin(self, received: bytes) -> None:
        if self._ended is not None:
            return
        self._reactor.at_close(self, lambda: self.handle_end("this process ends"))
        self._stream.attach(self._reactor, self._reader.readable, self._writable)
        self._reader.begin(received)
        self._advance(ChannelEvent.BEGUN)

    @property
    def is_held(self) -> bool:
        """Whether nothing is read from it now, since what it brought before cannot be passed on."""
        return bool(self.flow.held_by) or self._backlog.is_full

    def give_up(self, why: str) -> None:
        """End the connection, whose other end does what makes no sense."""
        _log.warning("the connection to %s is given up: %s", self.peer, why)
        self.handle_end(why)

    def handle_frame(self, frame: Frame) -> None:
        """Take a result to its call, and serve a call; raises FrameError for what is neither."""
        self._received += 1
        if RESULT <= frame.kind <= FAILURE:
            self._pending.settle(frame)
        elif CALL <= frame.kind <= NOTE:
            request = IncomingCall(frame, self, self._codec)
            if not self._backlog.keeps(request, frame.size):
                self._admit(request)
        else:
            raise FrameError(f"a message of the unknown kind {frame.kind} came")

    def _admit(self, request: IncomingCall) -> None:
        try:
            onward = self._relay(request.target) if self._relay else None
        except TransportError as refused:
            if not request.is_note:
                self._backlog.begun()
            self.answer(request, refused, None)
            return
        if onward is None:
            self._serve(request)
        else:
            self._pass_on(request, onward)

    def _serve(self, request: IncomingCall) -> None:
        if not request.is_note:
            self._backlog.begun()
        try:
            if self._handler is None:
                raise TransportError(f"nothing here serves {request}")
            future = self._handler(request)
        except Exception as error:  # it is the caller's
            self.answer(request, error, None)
            return
        if future is request:
            return
        if future is None:
            self.answer(request, None, None)
        elif isinstance(future, Future):
            future.add_done_callback(partial(self._answer_done, request))

    def _answer_done(self, request: IncomingCall, done: Future[Any]) -> None:
        error = done.exception()
        self.answer(request, error, None if error is not None else done.result())

    def answer(self, request: IncomingCall, error: BaseException | None, result: Any) -> None:
        """Answer a call, or log what has become of a note; any thread may do so."""
        number = request.frame.number
        if request.frame.kind == NOTE:
            if error is not None:
                _log.error("%s, noted by %s, failed", request, self.peer, exc_info=error)
            return
        try:
            if error is None:
                try:
                    self._send(result_frame(number, result, request.codec), answer=True)
                    return
                except (NotSendable, FrameError) as unsendable:
                    unsendable.place = f"the result of {request}"
                    error = unsendable
            self._send(failure_frame(number, error), answer=True)
        finally:
            self._backlog.answered()

    # -- passing on, on the reactor's thread -----------------------------------------------------

    def _pass_on(self, request: IncomingCall, onward: Channel) -> None:
        frame, number = request.frame, 0
        if frame.kind == CALL:
            number = onward._pending.add(_PassedOn(request, self, onward))
            if not number:
                return
        onward._forward(Frame(frame.kind, number, frame.parts), self)

    def _forward(self, frame: Frame, source: Channel, *, answer: bool = False) -> None:
        """Send a frame that came from `source`, which is not read while this one is too full."""
        self._send(frame, owned=True, answer=answer)
        self.flow.hold(source.flow, answer=answer)

    # -- the end, on the reactor's thread --------------------------------------------------------

    def _close(self) -> None:
        if not self._advance(ChannelEvent.CLOSED):
            return
        if not self._outbox.size:
            self.handle_end("it was closed on this side")
        else:
            self._linger = self._reactor.later(
                _LINGER_SECONDS, lambda: self.handle_end("it was closed on this side")
            )

    def handle_end(self, why: str, cause: OSError | None = None) -> None:
        """Let go of everything, since the connection has ended."""
        with self._lock:
            if self._ended is not None:
                return
            self._ended = ChannelClosed(why, place=self.peer)
            self._ended.__cause__ = cause
        self._advance(ChannelEvent.ENDED, why)
        if self._linger is not None:
            self._linger.cancel()
        self._outbox.end()
        self._backlog.end()
        self._reader.close()
        self._reactor.at_close(self, None)
        self.flow.end()
        self._pending.end(self._ended)
        for call in self._when_closed:
            call(self._ended)

    def _advance(self, event: ChannelEvent, why: str = "") -> bool:
        """Let something happen to it; return whether that has changed anything."""
        before = self._stage
        self._stage = change(TRANSITIONS, before, event, self, why)
        return self._stage is not before


class _PassedOn:
    """A call that was passed on for a peer: its outcome goes back there, unopened."""

    def __init__(self, request: IncomingCall, source: Channel, onward: Channel) -> None:
        self._request = request
        self._source = source
        self._onward = onward

    @property
    def about(self) -> object:
        """The call, and who made it."""
        return f"{self._request} for {self._source.peer}"

    def arrived(self, outcome: Frame | ChannelClosed) -> None:
        """Pass the outcome on."""
        number = self._request.frame.number
        if isinstance(outcome, ChannelClosed):
            answer = failure_frame(number, outcome)
        else:
            answer = Frame(outcome.kind, number, outcome.parts)
        self._source._forward(answer, self._onward, answer=True)
