"""The doors of a rank, and who stands in them: a visitor comes in once it has proved itself."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial

from runtime.later import logger
from runtime.transport.credentials import NONCE, Credentials, Listener
from runtime.transport.crowding import Refusals, next_goes, who_goes
from runtime.transport.encryption import secured
from runtime.transport.errors import TransportError
from runtime.wire.exchange import Exchange
from runtime.wire.line import READ

_log = logger(__name__)

PATIENCE = 10.0
"""Seconds for a visitor to prove itself."""

MOST = 256
"""How many may stand in the doors at one time; more make others go, or wait."""

_SHARE = 4  # of the descriptors that the process may have, at most a quarter is for strangers
_AGAIN = 0.2  # seconds until a connection is taken that could not be

Watch = Callable[[int, int, Callable[[int], bool] | None], None]
"""Watches a descriptor for events and calls back; with None not any more."""

Admitted = Callable[[socket.socket, str, bytes], None]
"""Gets who has proved itself: the connection, its name, and what it already sent."""


class Doors:
    """Listening sockets; they are closed with it."""

    def __init__(
        self,
        doors: list[socket.socket],
        credentials: Credentials,
        admitted: Admitted,
        *,
        watch: Watch,
        clock: Callable[[], float],
        look_again: Callable[[], None],
    ) -> None:
        self._doors = doors
        self._credentials = credentials
        self._watch = watch
        self._admitted = admitted
        self._clock = clock
        self._look_again = look_again
        self._visitors: set[_Visitor] = set()
        self._most = min(MOST, os.sysconf("SC_OPEN_MAX") // _SHARE)
        self._refusals = Refusals(_log, clock)
        self._is_closed = False
        self._is_shut = True
        self._opens_at: float | None = None
        for door in doors:
            door.setblocking(False)
        self._open()

    @property
    def deadline(self) -> float | None:
        """When `look` has to be called."""
        times = [visitor.deadline for visitor in self._visitors]
        if self._opens_at is not None:
            times.append(self._opens_at)
        return min(times, default=None)

    def look(self, now: float) -> None:
        """Send away who is too slow, and open doors that were shut for a while."""
        for visitor in [one for one in self._visitors if one.deadline <= now]:
            self._refuse(visitor, "slow", f"no proof within {PATIENCE:g} s")
        if self._opens_at is not None and now >= self._opens_at:
            self._open()

    def close(self) -> None:
        """Shut all doors and send away who stands in them."""
        self._is_closed = True
        self._shut()
        for visitor in list(self._visitors):
            self._let_go(visitor).close()
        for door in self._doors:
            door.close()
        self._refusals.close()

    def _open(self) -> None:
        self._opens_at = None
        if self._is_shut and not self._is_closed:
            self._is_shut = False
            for door in self._doors:
                self._watch(door.fileno(), READ, partial(self._visited, door))

    def _shut(self, until: float | None = None) -> None:
        self._opens_at = until
        if not self._is_shut:
            self._is_shut = True
            for door in self._doors:
                self._watch(door.fileno(), 0, None)

    def _has_room(self) -> bool:
        """Return whether one more may come in now, for whom somebody else may have to go."""
        if len(self._visitors) < self._most:
            return True
        goes = who_goes(self._visitors, self._clock())
        if goes is None:
            self._shut(next_goes(self._visitors))
            self._look_again()
            return False
        self._refuse(goes, "crowd", "it proved nothing while others were waiting at the door")
        return True

    def _visited(self, door: socket.socket, _: int) -> bool:
        if not self._has_room():
            return True
        try:
            came, where = door.accept()
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
        visitor = _Visitor(came, where, self._credentials, self._clock(), received)
        visitor.has_spoken = has_spoken
        self._visitors.add(visitor)
        self._look_again()
        self._go_on(visitor)

    def _came(self, visitor: _Visitor, events: int) -> bool:
        visitor.has_spoken = visitor.has_spoken or bool(events & READ)
        return self._go_on(visitor)

    def _go_on(self, visitor: _Visitor) -> bool:
        try:
            has_proved = visitor.step()
        except OSError as error:  # as members do that found another way meanwhile
            _log.debug("a connection from %s ended early: %s", visitor.where, error)
            self._let_go(visitor).close()
            return True
        except TransportError as error:
            self._refuse(visitor, type(error).__name__, str(error))
            return True
        if has_proved:
            connected = self._let_go(visitor)
            name, rest = visitor.greeting.peer, visitor.greeting.rest
            self._admitted(connected, name or "", rest)
        else:
            descriptor = visitor.socket.fileno()
            self._watch(descriptor, visitor.events, partial(self._came, visitor))
        return True

    def _refuse(self, visitor: _Visitor, kind: str, why: str) -> None:
        self._refusals.tell(kind, visitor.where, why)
        self._let_go(visitor).close()

    def _let_go(self, visitor: _Visitor) -> socket.socket:
        self._visitors.discard(visitor)
        self._watch(visitor.socket.fileno(), 0, None)
        self._open()
        return visitor.socket


class _Visitor:
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
        self.deadline = now + PATIENCE
        self.greeting = Listener(credentials, os.urandom(NONCE))
        self._exchange = Exchange(came, self.greeting, received)
        self.step = self._exchange.step

    @property
    def events(self) -> int:
        return self._exchange.events
