"""The channel: calls in both directions between two processes, over one stream."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.transitions import change
from runtime.transport.backlog import UNREAD_SECONDS, Backlog
from runtime.transport.errors import ChannelClosed, FrameError, NotSendable, TransportError
from runtime.transport.frames import MOST_BYTES, Frame, FrameReader
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
from runtime.transport.reactor import Reactor, Timer
from runtime.transport.streams import ByteStream

_log = logging.getLogger(__name__)

_READS_AT_ONCE = 16
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
        self._reader = FrameReader(most_bytes)
        self._outbox = Outbox(stream, self._ask_for_room, send_limit)
        self._backlog = Backlog[IncomingCall](
            reactor, self._outbox, self._give_up, patience=patience
        )
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, _Asked | _Answer | _PassedOn] = {}
        self._ended: ChannelClosed | None = None
        self._stage = ChannelStage.NEW
        self._broken = ""
        self._linger: Timer | None = None
        self._when_closed: list[Callable[[ChannelClosed], None]] = []
        self._reading = threading.Lock()
        self._read_elsewhere = False  # by a thread that waits for its answer
        self._deferred: deque[Frame] = deque()  # what that one has read for others
        self._wanting = threading.RLock()
        self.flow = HeldFlow(reactor, self._outbox, self._backlog, self._want, most_held)
        self.peer = peer
        self.received_bytes = 0
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
        answer = _Answer(self, invocation, codec)
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
        asked = _Asked(self, invocation)
        self._ask(asked, invocation, codec)
        self.read_for(asked, None)
        return outcome_of(asked.outcome or asked.awaited(), self.peer, codec)

    def _ask(self, asked: _Answer | _Asked, invocation: Invocation, codec: Codec) -> None:
        number = asked.number = self._await(asked)
        if not number:
            return
        try:
            given = invocation.args, invocation.kwargs
            self._send(call_frame(CALL, number, invocation, given, codec))
        except Exception:
            if self._waiting.pop(number, None) is not None:
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
            raise self._closed_error(invocation)

    def close(self) -> None:
        """Hang up once everything that was sent has left, or after two seconds; twice is once."""
        self._reactor.soon(self._close)

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return self._ended is not None

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

    def _await(self, awaited: _Asked | _Answer | _PassedOn) -> int:
        """Wait for an outcome under a fresh number; 0 if none can come, which was told then."""
        number = next(self._numbers)
        self._waiting[number] = awaited
        # Either this thread takes it out again or the one that ends the channel does.
        if self._ended is None or self._waiting.pop(number, None) is None:
            return number
        awaited.arrived(self._closed_error(awaited.about))
        return 0

    def _send(
        self, frame: Frame, *, owned: bool = False, answer: bool = False, now: bool = False
    ) -> bool:
        parts = frame.pieces()
        if owned or now or self._reactor.is_own_thread():
            return self._outbox.put_now(parts, owned=owned, answer=answer)
        return self._outbox.put(parts, answer=answer)

    def _ask_for_room(self) -> None:
        self._reactor.soon(self._writable)

    def _writable(self) -> None:
        if self._ended is not None:
            return
        try:
            self._outbox.flush()
        except OSError as error:
            self._broken = f"the connection broke: {error}"
            # What the other end still said before it hung up counts.
            self._readable()
            with self._wanting:
                if not self._read_elsewhere:  # else the reader does this when nothing is left
                    self._end(self._broken)
            return
        self.flow.release()
        while (request := self._backlog.take()) is not None:
            self._admit(request)
        self._want()
        if self._stage is ChannelStage.CLOSING and not self._outbox.size:
            self._end("it was closed on this side")

    def _closed_error(self, awaited: object) -> ChannelClosed:
        ended = self._ended
        return ChannelClosed(
            f"the connection ended, so there is no result of {awaited}",
            place=self.peer,
            cause=ended.what if ended else "",
            cure=ended.cure if ended else "",
        )

    # -- receiving, on the reactor's thread ------------------------------------------------------

    def _begin(self, received: bytes) -> None:
        if self._ended is not None:
            return
        self._reactor.at_close(self, lambda: self._end("this process ends"))
        self._stream.attach(self._reactor, self._readable, self._writable)
        self._want()
        with self._reading:
            if received:
                self._take(partial(self._reader.feed, received))
        self._advance(ChannelEvent.BEGUN)

    def _want(self, *, elsewhere: bool | None = None) -> None:
        """Tell the reactor what to look out for, not to read while a caller does so `elsewhere`."""
        with self._wanting:
            if elsewhere is not None:
                self._read_elsewhere = elsewhere
            if self._ended is None:
                read = not self._read_elsewhere and self._may_read
                self._stream.want(read=read, write=self._outbox.size > 0)
            elif elsewhere is False:
                self._stream.close()

    @property
    def is_held(self) -> bool:
        """Whether nothing is read from it now, since what it brought before cannot be passed on."""
        return not self._may_read

    @property
    def _may_read(self) -> bool:
        return not (self.flow.held_by or self._backlog.is_full)

    def _readable(self) -> None:
        if self._reading.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._reading.release()

    def _read(self) -> None:
        while self._deferred:
            self._take(lambda: [self._deferred.popleft()])
        for _ in range(_READS_AT_ONCE):
            if self._ended is not None or not self._may_read:
                return
            space = self._reader.space()
            room = len(space)
            try:
                count = self._stream.receive_into(space)
            except OSError as error:
                self._end(f"the connection broke: {error}")
                return
            if not count:
                if count is not None:
                    where = "" if self._reader.is_between_frames else " in the middle of a message"
                    self._end(f"the other end closed the connection{where}")
                return
            self.received_bytes += count
            try:
                for frame in self._reader.filled(count):
                    self._dispatch(frame)
            except FrameError as error:
                self._give_up(str(error))
            if count < room:  # there is no more, or the reactor tells of it
                return

    def _take(self, read: Callable[[], list[Frame]]) -> None:
        try:
            for frame in read():
                self._dispatch(frame)
        except FrameError as error:
            self._give_up(str(error))

    # -- receiving, on the thread that waits for an answer ---------------------------------------

    def read_for(self, answer: _Answer | _Asked, seconds: float | None) -> None:
        """Read until an answer has come, in place of the reactor, as long as nothing else comes.

        So waiters are woken by the answer itself. What is for others is left to the reactor.
        It may return early: when somebody else reads, or the stream cannot be waited for here.
        """
        if self._stage is ChannelStage.NEW or self._reactor.is_own_thread():
            return
        if not self._reading.acquire(blocking=False):
            return
        try:
            self._want(elsewhere=True)
            deadline = None if seconds is None else time.monotonic() + seconds
            while not answer.done() and self._reads_on_for(answer, deadline):
                pass
        finally:
            self._reading.release()
            self._want(elsewhere=False)
            if self._broken:
                self._reactor.soon(self._writable)
            elif self._deferred:
                self._reactor.soon(self._readable)

    def _reads_on_for(self, answer: _Answer | _Asked, deadline: float | None) -> bool:
        """Wait and read once; tell whether the answer may still be read here."""
        if self._ended is not None or self._deferred or not self._may_read:
            return False
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._stream.await_readable(left):
            return False
        try:
            count = self._stream.receive_into(self._reader.space())
            if not count:
                return count is None
            self.received_bytes += count
            frames = self._reader.filled(count)
        except OSError as error:
            self._reactor.soon(partial(self._end, f"the connection broke: {error}"))
            return False
        except FrameError as error:
            self._reactor.soon(partial(self._give_up, str(error)))
            return False
        for frame in frames:
            if frame.number == answer.number and frame.kind >= RESULT and not self._deferred:
                self._dispatch(frame)
            else:
                self._deferred.append(frame)
        return True

    def _give_up(self, why: str) -> None:
        _log.warning("the connection to %s is given up: %s", self.peer, why)
        self._end(why)

    def _dispatch(self, frame: Frame) -> None:
        self._received += 1
        if RESULT <= frame.kind <= FAILURE:
            if (found := self._waiting.pop(frame.number, None)) is not None:
                found.arrived(frame)
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
            number = onward._await(_PassedOn(request, self, onward))
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
            self._end("it was closed on this side")
        else:
            self._linger = self._reactor.later(
                _LINGER_SECONDS, lambda: self._end("it was closed on this side")
            )

    def _end(self, why: str) -> None:
        with self._lock:
            if self._ended is not None:
                return
            self._ended = ChannelClosed(why, place=self.peer)
        self._advance(ChannelEvent.ENDED, why)
        if self._linger is not None:
            self._linger.cancel()
        self._outbox.end()
        self._backlog.end()
        with self._wanting:
            if self._read_elsewhere:
                self._stream.hang_up()  # the reader closes it
            else:
                self._stream.close()
        self._reactor.at_close(self, None)
        self.flow.end()
        for number in list(self._waiting):
            if (awaited := self._waiting.pop(number, None)) is not None:
                awaited.arrived(self._closed_error(awaited.about))
        for call in self._when_closed:
            call(self._ended)

    def _advance(self, event: ChannelEvent, why: str = "") -> bool:
        """Let something happen to it; return whether that has changed anything."""
        before = self._stage
        self._stage = change(TRANSITIONS, before, event, self, why)
        return self._stage is not before


class _Asked:
    """A call that its caller waits for, and nobody else."""

    __slots__ = ("_call", "_channel", "_gate", "number", "outcome")

    def __init__(self, channel: Channel, call: Invocation) -> None:
        self._channel = channel
        self._call = call
        self._gate: threading.Lock | None = None
        self.number = 0
        self.outcome: Frame | ChannelClosed | None = None

    @property
    def about(self) -> object:
        """The call, and where it goes."""
        return f"{self._call} at {self._channel.peer}"

    def done(self) -> bool:
        """Return whether the outcome is there."""
        return self.outcome is not None

    def arrived(self, outcome: Frame | ChannelClosed) -> None:
        """Take the outcome, unopened."""
        self.outcome = outcome
        if self._gate is not None:
            self._gate.release()

    def awaited(self) -> Frame | ChannelClosed:
        """Wait until another thread has brought the outcome, and return it."""
        gate = threading.Lock()
        gate.acquire()
        self._gate = gate
        if self.outcome is None:
            gate.acquire()
        assert self.outcome is not None
        return self.outcome


class _Answer(Future[Any]):
    """The future of a call: the thread that waits for it reads the channel, if no other does."""

    _state = "RUNNING"  # it cannot be cancelled

    def __init__(self, channel: Channel, call: Invocation, codec: Codec) -> None:
        super().__init__(call)
        self._channel = channel
        self._codec = codec
        self.number = 0

    @property
    def about(self) -> object:
        """The call, and where it goes."""
        return f"{self._call} at {self._channel.peer}"

    @about.setter
    def about(self, call: object) -> None:
        self._call = call

    def arrived(self, outcome: Frame | ChannelClosed) -> None:
        """Open the result, or take the reason why there is none."""
        try:
            result = outcome_of(outcome, self._channel.peer, self._codec)
        except Exception as error:  # it is what the call raised
            self.set_exception(error)
        else:
            self.set_result(result)

    def _wait(self, timeout: float | None) -> None:
        if timeout is None:
            self._channel.read_for(self, None)
        else:
            deadline = time.monotonic() + timeout
            self._channel.read_for(self, timeout)
            timeout = max(0.0, deadline - time.monotonic())
        if not self.done():
            super()._wait(timeout)


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
