"""The listeners of a rank, and connections in their handshake, which have to prove themselves."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial

from runtime.later import logger
from runtime.transport.credentials import NONCE, Credentials, ListeningEnd
from runtime.transport.crowding import RefusalLog, next_goes, who_goes
from runtime.transport.encryption import secured
from runtime.transport.errors import TransportError
from runtime.transport.passage import accepted
from runtime.wire.dialling.exchange import Exchange
from runtime.wire.dialling.line import READ

_log = logger(__name__)

HANDSHAKE_TIMEOUT = 10.0
"""Seconds for a connection to prove itself."""

MOST = 256
"""How many may stand in the listeners at one time; more make others go, or wait."""

_SHARE = 4  # of the descriptors that the process may have, at most a quarter is for strangers
_AGAIN = 0.2  # seconds until a connection is taken that could not be

Watch = Callable[[int, int, Callable[[int], bool] | None], None]
"""Watches a descriptor for events and calls back; with None not any more."""

Admitted = Callable[[socket.socket, str, bytes], None]
"""Gets a connection that has proved itself, its name, and what it already sent."""


class Listeners:
    """Listening sockets; they are closed with it."""

    def __init__(
        self,
        listeners: list[socket.socket],
        credentials: Credentials,
        admitted: Admitted,
        *,
        watch: Watch,
        clock: Callable[[], float],
        look_again: Callable[[], None],
    ) -> None:
        self._listeners = listeners
        self._credentials = credentials
        self._watch = watch
        self._admitted = admitted
        self._clock = clock
        self._look_again = look_again
        self._incoming: set[_Incoming] = set()
        self._most = min(MOST, os.sysconf("SC_OPEN_MAX") // _SHARE)
        self._refusals = RefusalLog(_log, clock)
        self._is_closed = False
        self._is_shut = True
        self._opens_at: float | None = None
        for listener in listeners:
            listener.setblocking(False)
        self._open()

    @property
    def deadline(self) -> float | None:
        """When `look` has to be called."""
        times = [incoming.deadline for incoming in self._incoming]
        if self._opens_at is not None:
            times.append(self._opens_at)
        return min(times, default=None)

    def look(self, now: float) -> None:
        """Send away slow connections, and open listeners that were shut for a while."""
        for incoming in [one for one in self._incoming if one.deadline <= now]:
            self._refuse(incoming, "slow", f"no proof within {HANDSHAKE_TIMEOUT:g} s")
        if self._opens_at is not None and now >= self._opens_at:
            self._open()

    def close(self) -> None:
        """Shut all listeners and send away who stands in them."""
        self._is_closed = True
        self._shut()
        for incoming in list(self._incoming):
            self._let_go(incoming).close()
        for listener in self._listeners:
            listener.close()
        self._refusals.close()

    def _open(self) -> None:
        self._opens_at = None
        if self._is_shut and not self._is_closed:
            self._is_shut = False
            for listener in self._listeners:
                self._watch(listener.fileno(), READ, partial(self._accept, listener))

    def _shut(self, until: float | None = None) -> None:
        self._opens_at = until
        if not self._is_shut:
            self._is_shut = True
            for listener in self._listeners:
                self._watch(listener.fileno(), 0, None)

    def _has_room(self) -> bool:
        """Return whether one more may come in now, for whom somebody else may have to go."""
        if len(self._incoming) < self._most:
            return True
        goes = who_goes(self._incoming, self._clock())
        if goes is None:
            self._shut(next_goes(self._incoming))
            self._look_again()
            return False
        self._refuse(goes, "crowd", "it had not authenticated while others were waiting")
        return True

    def _accept(self, listener: socket.socket, _: int) -> bool:
        if not self._has_room():
            return True
        try:
            came, where = accepted(listener)
        except (BlockingIOError, ConnectionError):
            return False
        except OSError as error:  # descriptors or memory are used up
            self._refusals.tell("not taken", "others", f"it could not be taken: {error}")
            self._shut(self._clock() + _AGAIN)
            self._look_again()
            return True
        try:
            came = secured(came, self._credentials, dialled=False)
        except (OSError, TransportError) as error:
            self._refusals.tell("not encrypted", where, str(error))
            came.close()
            return True
        self._take(came, str(where or "this machine"))
        return True

    def receive(self, came: socket.socket, where: str, received: bytes = b"") -> None:
        """Let a connection in that came by another way, once it has proved itself."""
        self._take(came, where, received, has_spoken=True)

    def _take(
        self, came: socket.socket, where: str, received: bytes = b"", *, has_spoken: bool = False
    ) -> None:
        came.setblocking(False)
        incoming = _Incoming(came, where, self._credentials, self._clock(), received)
        incoming.has_spoken = has_spoken
        self._incoming.add(incoming)
        self._look_again()
        self._go_on(incoming)

    def _came(self, incoming: _Incoming, events: int) -> bool:
        incoming.has_spoken = incoming.has_spoken or bool(events & READ)
        return self._go_on(incoming)

    def _go_on(self, incoming: _Incoming) -> bool:
        try:
            has_proved = incoming.step()
        except OSError as error:  # as members do that found another way meanwhile
            _log.debug("a connection from %s ended early: %s", incoming.where, error)
            self._let_go(incoming).close()
            return True
        except TransportError as error:
            self._refuse(incoming, type(error).__name__, str(error))
            return True
        if has_proved:
            connected = self._let_go(incoming)
            name, rest = incoming.greeting.peer, incoming.greeting.rest
            self._admitted(connected, name or "", rest)
        else:
            descriptor = incoming.socket.fileno()
            self._watch(descriptor, incoming.events, partial(self._came, incoming))
        return True

    def _refuse(self, incoming: _Incoming, kind: str, why: str) -> None:
        self._refusals.tell(kind, incoming.where, why)
        self._let_go(incoming).close()

    def _let_go(self, incoming: _Incoming) -> socket.socket:
        self._incoming.discard(incoming)
        self._watch(incoming.socket.fileno(), 0, None)
        self._open()
        return incoming.socket


class _Incoming:
    """One connection in its handshake."""

    def __init__(
        self,
        came: socket.socket,
        where: str,
        credentials: Credentials,
        now: float,
        received: bytes = b"",
    ) -> None:
        self.socket = came
        self.where = where
        self.since = now
        self.has_spoken = False
        self.deadline = now + HANDSHAKE_TIMEOUT
        self.greeting = ListeningEnd(credentials, os.urandom(NONCE))
        self._exchange = Exchange(came, self.greeting, received)
        self.step = self._exchange.step

    @property
    def events(self) -> int:
        return self._exchange.events
