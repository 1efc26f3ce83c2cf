"""A server for ordinary Pyro5 clients: their sessions, messages and calls. They are not trusted."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from gcm.interfaces.future import Future
from gcm.suggestion import did_you_mean
from runtime.transport.crowding import RefusalLog, who_goes
from runtime.transport.errors import FrameError, NotSendable
from runtime.transport.lean import HANDSHAKE_SECONDS
from runtime.transport.outbox import Outbox, SlowReader
from runtime.transport.pyro.exposed_objects import ExposedObjects
from runtime.transport.pyro.values import Calls, Language, wrapped
from runtime.transport.pyro_messages import (
    BATCH,
    COMPRESSED,
    CONNECT,
    CONNECTED,
    EXCEPTION,
    INVOKE,
    JSON,
    MSGPACK,
    ONEWAY,
    PING,
    RESULT,
    SERPENT,
    MessageReader,
    PyroMessage,
    refusal,
)
from runtime.transport.reactor import Reactor, Timer
from runtime.transport.streams import SocketStream

_log = logging.getLogger(__name__)

MOST_CLIENTS = 256
"""How many clients may be connected at one time."""

MOST_BYTES = {SERPENT: 8 << 20, JSON: 8 << 20, MSGPACK: 4 << 20}
"""How large a message of a client may be, by its serializer; see `structure` for what is in it."""

MOST_HELD = 64 << 20
"""How many bytes the messages of all clients may take while they are unfinished or wait."""

_SHARE = 4  # of the descriptors that the process may have, at most a quarter is for clients

_PIECE = 1 << 16
_MOST_GREETING = 1 << 14
"""How large messages may be before a client has said to which object it connects: 16 KiB."""

_MOST_CALLS = 64
"""How many calls a client may have waiting before no more are read from it."""

_MOST_UNSENT = 1 << 20
"""How many bytes of answers a client may leave unread before nothing more is done for it: 1 MiB."""

UNREAD_TIMEOUT = 30.0
"""For how many seconds a client may read none of its answers: its place is wanted by others."""


class ClientSession:
    """The session of one client; all methods are for the reactor's thread."""

    def __init__(
        self,
        server: PyroServer,
        reactor: Reactor,
        stream: SocketStream,
        where: str,
        *,
        most_bytes: Mapping[int, int],
        clock: Callable[[], float] = time.monotonic,
        unread_timeout: float = UNREAD_TIMEOUT,
    ) -> None:
        self._server = server
        self._stream = stream
        self._where = where
        self._most_bytes = most_bytes
        self._reader = MessageReader(_MOST_GREETING)
        self._clock = clock
        self.since = clock()
        """When the last call of the client ended, or it connected."""
        self.unfinished_since = self.since
        """The time since which its messages take memory."""
        self._reactor = reactor
        self._space = memoryview(bytearray(_PIECE))
        self._outbox = Outbox(stream, self._want, _MOST_UNSENT)
        self._reader_of_answers = SlowReader(
            reactor, self._outbox, unread_timeout, lambda: self._outbox.size > 0, self._is_silent
        )
        self._waiting: deque[PyroMessage] = deque()
        self._waiting_bytes = 0
        self.is_busy = False
        """Whether a call of it is being served."""
        self._serving_bytes = 0
        self._handshake_timer: Timer | None = None
        self.has_spoken = False
        """Whether the client has named the object that it connects to."""
        self._is_open = True

    def open(self, received: bytes, patience: float) -> None:
        """Begin to serve; `received` are the bytes that the client has sent already.

        It has to connect to an object within `patience` seconds.
        """
        self._handshake_timer = self._reactor.later(patience, self._end_handshake)
        self._stream.attach(self._reactor, self._readable, self._writable)
        self._reader.feed(received)
        self._go_on()

    def close(self) -> None:
        """Hang up; twice is once."""
        if self._is_open:
            self._is_open = False
            if self._handshake_timer is not None:
                self._handshake_timer.cancel()
            self._reader_of_answers.stop()
            self._reader = MessageReader(0)  # a thread that waits for a call of it may hold this
            self._waiting.clear()
            self._stream.close()
            self._outbox.end()
            self._server.forget(self)

    @property
    def is_idle(self) -> bool:
        """Whether no call of the client is served or waits, and it has read all answers."""
        return not self.is_busy and not self._waiting and not self._outbox.size

    def _end_handshake(self) -> None:
        if not self.has_spoken:
            self.send_away("slow", "it did not say in time to which object it connects")

    def _is_silent(self, _: float) -> bool:
        self.send_away("unread", "it does not read its answers")
        return False

    def send_away(self, kind: str, why: str) -> None:
        """Disconnect the client, and log why."""
        if self._is_open:
            self._server.refusals.add(kind, self._where, why)
            self.close()

    # -- in --------------------------------------------------------------------------------------

    def _readable(self) -> None:
        try:
            count = self._stream.receive_into(self._space)
        except OSError as error:
            _log.info("the connection to the Pyro5 client %s broke: %s", self._where, error)
            count = 0
        if count == 0:
            self.close()
        elif count:
            if not self._held:
                self.unfinished_since = self._clock()
            self._reader.feed(self._space[:count])
            self._go_on()

    def _writable(self) -> None:
        try:
            self._outbox.flush()
        except OSError as error:
            _log.info("the connection to the Pyro5 client %s broke: %s", self._where, error)
            self.close()
        self._go_on()

    @property
    def _listens(self) -> bool:
        """Whether more is read: the client has read its answers, and few of its calls wait."""
        return (
            len(self._waiting) < _MOST_CALLS
            and self._waiting_bytes < max(self._most_bytes.values())
            and not self._outbox.is_congested
        )

    @property
    def _held(self) -> int:
        """How many bytes of messages are kept: unfinished, waiting, and being served."""
        return len(self._reader) + self._waiting_bytes + self._serving_bytes

    def _go_on(self) -> None:
        """Serve the next call, and handle the messages that have arrived."""
        try:
            self._serve_next()
            while self._is_open and self._listens and (message := self._reader.take()) is not None:
                self._handle(message)
        except FrameError as error:
            self._server.refusals.add("nonsense", self._where, str(error))
            self.close()
            return
        self._server.holds(self, self._held)
        self._want()

    def _handle(self, message: PyroMessage) -> None:
        if message.flags & COMPRESSED:
            raise FrameError("a compressed message; who knows how large it really is")
        if message.kind == PING:
            self._send(PyroMessage(PING, b"pong", sequence=message.sequence))
        elif message.kind == CONNECT and not self.has_spoken:
            self._connect(message)
        elif message.kind == INVOKE and self.has_spoken:
            self._waiting.append(message)
            self._waiting_bytes += len(message.payload)
            self._serve_next()
        else:
            raise FrameError(f"a message of kind {message.kind}, which makes no sense here")

    def _connect(self, message: PyroMessage) -> None:
        language = Language(message.serializer)
        name = language.hello(message.payload)
        if name not in self._server.objects:
            hint = did_you_mean(name, self._server.objects.names())
            self._send(refusal(message, f"unknown object '{name}'. {hint}".strip()))
            return
        self.has_spoken = True
        self._reader.most_bytes = self._most_bytes
        answer = {"handshake": "hello", "meta": self._server.objects.metadata(name)}
        self._answer(CONNECTED, message, language.value(answer))

    # -- calls -----------------------------------------------------------------------------------

    def _serve_next(self) -> None:
        if self.is_busy or not self._waiting or not self._is_open or self._outbox.is_congested:
            return
        self.is_busy = True
        message = self._waiting.popleft()
        self._waiting_bytes -= len(message.payload)
        self._serving_bytes = len(message.payload)
        self.unfinished_since = self._clock()
        language = Language(message.serializer)
        name, method, args, kwargs = language.call(message.payload)
        batch = bool(message.flags & BATCH)
        calls = language.batch(args) if batch else [(method, args, kwargs)]
        objects = self._server.objects
        _Work(self, message, language, name, calls, objects=objects, batch=batch).go_on()

    def outcome(self, message: PyroMessage, flags: int, payload: bytes) -> None:
        """Send the result of a call and serve the next; for any thread."""
        self._reactor.soon(lambda: self._finish(message, flags, payload))

    def _finish(self, message: PyroMessage, flags: int, payload: bytes) -> None:
        self.is_busy = False
        self._serving_bytes = 0
        self.since = self._clock()
        if not self._is_open:
            return
        if not message.flags & ONEWAY:
            self._answer(RESULT, message, payload, flags)
        self._go_on()

    # -- out -------------------------------------------------------------------------------------

    def _answer(self, kind: int, asked: PyroMessage, payload: bytes, flags: int = 0) -> None:
        self._send(
            PyroMessage(
                kind, payload, flags=flags, sequence=asked.sequence, serializer=asked.serializer
            )
        )

    def _send(self, message: PyroMessage) -> None:
        self._outbox.put_now([part for part in message.parts() if len(part)], owned=True)
        self._reader_of_answers.begin()

    def _want(self) -> None:
        if self._is_open:
            self._stream.want(read=self._listens, write=self._outbox.size > 0)


class _Work:
    """The calls of one message, made one after another: several if it is a batch."""

    def __init__(
        self,
        session: ClientSession,
        message: PyroMessage,
        language: Language,
        name: str,
        calls: Calls,
        *,
        objects: ExposedObjects,
        batch: bool,
    ) -> None:
        self._session = session
        self._objects = objects
        self._message = message
        self._language = language
        self._name = name
        self._calls = deque(calls)
        self._batch = batch
        self._results: list[Any] = []

    def go_on(self) -> None:
        """Make the next calls until one does not end at once, or send the results of all."""
        has_more = True
        while has_more:
            method, args, kwargs = self._calls.popleft()
            done = self._objects.call(self._name, method, args, kwargs)
            if not done.done():
                done.add_done_callback(self._ended)
                return
            has_more = self._took(done)

    def _ended(self, done: Future[Any]) -> None:
        if self._took(done):
            self.go_on()

    def _took(self, done: Future[Any]) -> bool:
        """Record the result of a call; return whether there are more calls to make."""
        error = done.exception()
        if self._batch:
            self._results.append(done.result() if error is None else wrapped(error, _trace(error)))
            if error is None and self._calls:
                return True
            self._send(BATCH, self._results)
        elif error is None:
            self._send(0, done.result())
        else:
            self._fail(error)
        return False

    def _fail(self, error: BaseException) -> None:
        payload = self._language.failure(error, _trace(error))
        self._session.outcome(self._message, EXCEPTION, payload)

    def _send(self, flags: int, value: Any) -> None:
        try:
            payload = self._language.value(value)
        except NotSendable as error:
            self._fail(error)
        else:
            self._session.outcome(self._message, flags, payload)


def _trace(error: BaseException) -> list[str]:
    """Return lines for the client in place of a traceback, which would name files of this host."""
    _log.info("a call of a Pyro5 client raised", exc_info=error)
    return ["The traceback is in the log of the process that serves the call.\n"]


class PyroServer:
    """Serves the clients that a `Listener` hands over, which may come from anybody.

    They reach exposed objects and nothing else. The server disconnects a client that sends no valid
    call, or more than `most_bytes` at once (by default what its serializer may), or does not
    name its object within `patience` seconds. Where all places are taken it disconnects the client
    that has been idle for longest; where the messages of all clients take too much memory, the one
    whose message has been unfinished for longest. The calls of one client are served one after
    another, as Pyro5 does.

    >>> server = PyroServer(reactor)                                              # doctest: +SKIP
    >>> Listener(reactor, address, credentials, members, untrusted=server.receive) # doctest: +SKIP
    >>> server.objects.expose("greeter", ExposedObject(["greet"], serve))         # doctest: +SKIP
    """

    def __init__(
        self,
        reactor: Reactor,
        *,
        most_bytes: int = 0,
        most_held: int = MOST_HELD,
        most: int = MOST_CLIENTS,
        patience: float = HANDSHAKE_SECONDS,
    ) -> None:
        self._reactor = reactor
        self._most_bytes: Mapping[int, int] = (
            dict.fromkeys(MOST_BYTES, most_bytes) if most_bytes else MOST_BYTES
        )
        self._most_held = max(most_held, 2 * most_bytes)
        self._most = min(most, os.sysconf("SC_OPEN_MAX") // _SHARE)
        self._patience = patience
        self._held = 0
        self._sizes: dict[ClientSession, int] = {}
        self.objects = ExposedObjects()
        self.refusals = RefusalLog(_log, time.monotonic)
        """The log of refused and disconnected clients; for the reactor's thread."""

    def receive(self, came: socket.socket, where: str, received: bytes) -> None:
        """Serve a client; `received` are the bytes it has sent. For the reactor's thread."""
        if not self._has_room():
            self.refusals.add("crowd", where, f"{self._most} Pyro5 clients are being served")
            came.close()
            return
        stream = SocketStream(came)
        session = ClientSession(self, self._reactor, stream, where, most_bytes=self._most_bytes)
        self._sizes[session] = 0
        session.open(received, self._patience)

    def _has_room(self) -> bool:
        """Return whether another client may connect; an idle one is disconnected for it."""
        if len(self._sizes) < self._most:
            return True
        idle = who_goes((one for one in self._sizes if one.is_idle), time.monotonic())
        if idle is not None:
            idle.send_away("crowd", "it was idle while others were waiting for a place")
        return idle is not None

    def holds(self, session: ClientSession, size: int) -> None:
        """Record the memory of a client's messages; above the bound, disconnect the slowest."""
        if session not in self._sizes:
            return
        self._held += size - self._sizes[session]
        self._sizes[session] = size
        while self._held > self._most_held:
            holders = [one for one, held in self._sizes.items() if held and not one.is_busy]
            # a call that is being served takes its memory anyway
            longest = min(holders, key=lambda one: one.unfinished_since, default=session)
            longest.send_away(
                "memory",
                f"its messages were unfinished while those of all took {self._held >> 20} MiB",
            )

    def forget(self, session: ClientSession) -> None:
        """Record that a client has disconnected."""
        self._held -= self._sizes.pop(session, 0)

    def close(self) -> None:
        """Disconnect all clients."""
        self._reactor.soon(self._close)

    def _close(self) -> None:
        for session in list(self._sizes):
            session.close()
        self.refusals.close()
