"""Connections in their handshake, which have to prove themselves before they are let in.

Two processes listen so: a rank, on the thread that drives its messages, and whoever has a reactor
(see `runtime.transport.listening`). Imports little: ranks need it.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from runtime.lazy_import import logger
from runtime.transport.credentials import NONCE, Credentials, Greeting, ListeningEnd
from runtime.transport.crowding import RefusalLog, next_goes, who_goes
from runtime.transport.encryption import certified, is_set_up, secured, wants_to_write
from runtime.transport.errors import NotAMember, TransportError
from runtime.transport.lean import HANDSHAKE_SECONDS
from runtime.transport.passage import accepted
from runtime.transport.transports import is_listener_of_user, send_at_once

_log = logger(__name__)

READ, WRITE = select.EPOLLIN, select.EPOLLOUT
MOST_STRANGERS = 256
"""How many connections may be in their handshake at one time; more make others go, or wait."""

_SHARE = 4  # of the descriptors that the process may have, at most a quarter is for strangers
_AGAIN = 0.2  # seconds until a connection is taken that could not be
_PIECE = 4096


class EventLoop(Protocol):
    """What watches descriptors and the time; all is called on the thread that it belongs to."""

    def watch_descriptor(
        self, descriptor: int, events: int, handle: Callable[[int], bool] | None, /
    ) -> None:
        """Call `handle` when the events are true; with None not any more."""

    def now(self) -> float:
        """Return the time."""

    def tick_soon(self) -> None:
        """See to it that `tick` of all that has a `deadline` is called soon."""


class Exchange:
    """One end's part of a greeting, carried over a connection without waiting.

    `received` is what the other end has said already, and then all that it has said.
    """

    def __init__(self, connected: socket.socket, greeting: Greeting, received: bytes = b"") -> None:
        self.socket = connected
        self.greeting = greeting
        self.received = received
        self._unfed = received
        self._to_send = greeting.begin()
        self._is_set_up = False

    @property
    def events(self) -> int:
        """What to watch the connection for."""
        if not self._is_set_up:
            return WRITE if wants_to_write(self.socket) else READ
        return READ | (WRITE if self._to_send else 0)

    def step(self) -> bool:
        """Go on as far as that goes; return whether the other end has proved itself.

        Raises:
            OSError: the connection is of no use.
            TransportError: the other end is no member of the run.
        """
        greeting = self.greeting
        if not self._is_set_up and not is_set_up(self.socket):
            return False
        self._is_set_up = True
        try:
            self._feed(self._unfed)
            while greeting.peer is None:
                received = self.socket.recv(_PIECE)
                if not received:
                    raise ConnectionError("it closed the connection in the handshake")
                self.received += received
                self._feed(received)
        except BlockingIOError:
            return False
        return not self._to_send

    def _feed(self, received: bytes) -> None:
        if received:
            self._unfed = b""
            self._to_send += self.greeting.feed(received, certified(self.socket))
        if self._to_send:
            self._to_send = self._to_send[self.socket.send(self._to_send) :]


class UnprovenConnection(Exchange):
    """One connection that came in; who it is and since when, for `who_goes`."""

    def __init__(
        self, came: socket.socket, where: str, greeting: Greeting, now: float, received: bytes
    ) -> None:
        super().__init__(came, greeting, received)
        self.where = where
        self.since = now
        self.has_spoken = bool(received)


class Admission:
    """Listening sockets, which are closed with it, and the connections that came in by them.

    `admitted` gets each connection that has proved itself, its name, and what it already sent. One
    that has not within `patience` seconds is sent away, and so is one that proves nothing. Where
    `most` are in their handshake, those who say nothing have to go when more come. It begins with
    `open`. Messages say who listens `here`, and `whose` an address is, as far as that is known.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        credentials: Credentials,
        admitted: Callable[[socket.socket, str, bytes], None],
        loop: EventLoop,
        *,
        patience: float = HANDSHAKE_SECONDS,
        most: int = MOST_STRANGERS,
        here: str = "",
        whose: Callable[[str], str] = lambda _: "",
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._random = random
        self._listeners = listeners
        self._credentials = credentials
        self._admitted = admitted
        self._loop = loop
        self._patience = patience
        self._incoming: dict[UnprovenConnection, None] = {}  # in the order in which they came
        self._most = min(most, os.sysconf("SC_OPEN_MAX") // _SHARE)
        self._refusals = RefusalLog(_log, loop.now, here)
        self._whose = whose
        self._is_closed = False
        self._is_shut = True
        self._opens_at: float | None = None
        for listener in listeners:
            listener.setblocking(False)

    def open(self) -> None:
        """Let connections in, from now on or again."""
        self._opens_at = None
        if self._is_shut and not self._is_closed:
            self._is_shut = False
            for listener in self._listeners:
                self._loop.watch_descriptor(
                    listener.fileno(), READ, partial(self._accept, listener)
                )

    @property
    def deadline(self) -> float | None:
        """When `tick` has to be called."""
        times = [one.since + self._patience for one in self._incoming]
        return min([*times, *([] if self._opens_at is None else [self._opens_at])], default=None)

    def tick(self, now: float) -> None:
        """Send away slow connections, and open listeners that were shut for a while."""
        for one in [one for one in self._incoming if one.since + self._patience <= now]:
            self._refuse(one, "slow", f"no proof within {self._patience:g} s")
        if self._opens_at is not None and now >= self._opens_at:
            self.open()

    def receive(self, came: socket.socket, where: str, received: bytes = b"") -> None:
        """Let a connection in that came by another way, once it has proved itself."""
        came.setblocking(False)
        greeting = ListeningEnd(self._credentials, self._random(NONCE))
        incoming = UnprovenConnection(came, where, greeting, self._loop.now(), received)
        self._incoming[incoming] = None
        self._loop.tick_soon()
        self._go_on(incoming)

    def close(self) -> None:
        """Close all listeners and send away who is in its handshake."""
        self._is_closed = True
        self._shut()
        for incoming in list(self._incoming):
            self._let_go(incoming).close()
        for listener in self._listeners:
            listener.close()
        self._refusals.close()

    def _shut(self, until: float | None = None) -> None:
        """Let nobody in for a while; connections wait in the system."""
        self._opens_at = until
        if not self._is_shut:
            self._is_shut = True
            for listener in self._listeners:
                self._loop.watch_descriptor(listener.fileno(), 0, None)
        if until is not None:
            self._loop.tick_soon()

    def _has_room(self) -> bool:
        """Return whether one more may come in now, for whom somebody else may have to go."""
        if len(self._incoming) < self._most:
            return True
        goes = who_goes(self._incoming, self._loop.now())
        if goes is None:
            self._shut(next_goes(self._incoming))
            return False
        self._refuse(goes, "crowd", "it had not authenticated while others were waiting")
        return True

    def _accept(self, listener: socket.socket, _: int) -> bool:
        if self._is_closed or not self._has_room():
            return True
        try:
            came, where = accepted(listener)
        except (BlockingIOError, ConnectionError):  # it has hung up already
            return False
        except OSError as error:  # descriptors or memory are used up
            place = listener.getsockname()
            self._refusals.add("not taken", place, f"it could not be taken: {error}")
            self._shut(self._loop.now() + _AGAIN)
            return True
        came.setblocking(False)
        try:
            send_at_once(came)
            always = is_listener_of_user(listener)
            came = secured(came, self._credentials, dialled=False, always=always)
        except (OSError, TransportError) as error:
            came.close()
            self._refusals.add("not encrypted", where, str(error))
            return True
        self.receive(came, self._place(where))
        return True

    def _place(self, where: Any) -> str:
        """Return how messages name where a connection comes from."""
        if not isinstance(where, tuple):
            return str(where or "this machine")
        host, port, *_ = where
        whose = self._whose(host)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return f"{place} ({whose})" if whose else place

    def _came(self, incoming: UnprovenConnection, events: int) -> bool:
        incoming.has_spoken = incoming.has_spoken or bool(events & READ)
        return incoming not in self._incoming or self._go_on(incoming)

    def _go_on(self, incoming: UnprovenConnection) -> bool:
        try:
            has_proved = incoming.step()
        except OSError as error:
            self._broken(incoming, error)
        except NotAMember as error:
            self._strange(incoming, error)
        except TransportError as error:
            self._refuse(incoming, type(error).__name__, str(error))
        else:
            if has_proved:
                greeting = incoming.greeting
                _log.debug("%s has proved itself from %s", greeting.peer, incoming.where)
                self._hand_over(incoming, self._admitted, greeting.peer or "", greeting.rest)
            else:
                handle = partial(self._came, incoming)
                self._loop.watch_descriptor(incoming.socket.fileno(), incoming.events, handle)
        return True

    def _hand_over(
        self,
        incoming: UnprovenConnection,
        receiver: Callable[[socket.socket, str, bytes], None],
        name: str,
        received: bytes,
    ) -> None:
        connected = self._let_go(incoming)
        try:
            receiver(connected, name, received)
        except BaseException:
            connected.close()
            raise

    def _broken(self, incoming: UnprovenConnection, error: OSError) -> None:
        """See to a connection that has ended early, as members do that found another way."""
        _log.debug("a connection from %s ended early: %s", incoming.where, error)
        self._let_go(incoming).close()

    def _strange(self, incoming: UnprovenConnection, error: NotAMember) -> None:
        """See to who does not even claim to be a member."""
        self._refuse(incoming, type(error).__name__, str(error))

    def _refuse(self, incoming: UnprovenConnection, kind: str, why: str) -> None:
        self._refusals.add(kind, incoming.where, why)
        self._let_go(incoming).close()

    def _let_go(self, incoming: UnprovenConnection) -> socket.socket:
        self._incoming.pop(incoming, None)
        self._loop.watch_descriptor(incoming.socket.fileno(), 0, None)
        self.open()
        return incoming.socket
