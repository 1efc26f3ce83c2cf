"""Ordinary Pyro5 clients, and the objects that were exposed to them."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from gcm.interfaces.future import Future
from runtime.transport.crowding import RefusalLog
from runtime.transport.pyro.session import ClientSession
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream

_log = logging.getLogger(__name__)

MOST_GUESTS = 256
"""How many clients may be connected at one time."""

MOST_BYTES = 64 << 20
"""How large a message of a client may be: 64 MiB."""

Serve = Callable[[str, tuple[Any, ...], dict[str, Any]], Future[Any]]


class ServedObject:
    """One object that clients may call: the names of its methods, and what serves a call."""

    def __init__(self, methods: Iterable[str], serve: Serve, oneway: Iterable[str] = ()) -> None:
        self.methods = tuple(methods)
        self.oneway = tuple(oneway)
        self.serve = serve


class Guests:
    """Serves the clients that a `Door` hands over.

    Nothing is reached but what was exposed by name. A client that sends what is no call, or more
    than `most_bytes` at once, is sent away; so is one too many. The calls of one client are served
    one after another, as Pyro5 does.

    >>> guests = Guests(reactor)                                                  # doctest: +SKIP
    >>> Door(reactor, "127.0.0.1:0", credentials, members, guests=guests.receive)  # doctest: +SKIP
    >>> guests.expose("greeter", Served(["greet"], serve))                        # doctest: +SKIP
    """

    def __init__(self, reactor: Reactor, *, most_bytes: int = MOST_BYTES) -> None:
        self._reactor = reactor
        self._most_bytes = most_bytes
        self._served: dict[str, ServedObject] = {}
        self._sessions: set[ClientSession] = set()
        self._lock = threading.Lock()
        self.refusals = RefusalLog(_log, time.monotonic)
        """Tells of clients that were sent away; for the reactor's thread."""

    def expose(self, name: str, served: ServedObject) -> None:
        """Let clients call an object under a name, from now on."""
        with self._lock:
            self._served[name] = served

    def hide(self, name: str) -> None:
        """Take back what `expose` did; nothing happens if the name is not known."""
        with self._lock:
            self._served.pop(name, None)

    def find(self, name: str) -> ServedObject | None:
        """Return what was exposed under a name."""
        with self._lock:
            return self._served.get(name)

    def names(self) -> list[str]:
        """Return the names under which something is exposed."""
        with self._lock:
            return sorted(self._served)

    def receive(self, came: socket.socket, where: str, received: bytes) -> None:
        """Serve a client; `received` is what it has said already. For the reactor's thread."""
        if len(self._sessions) >= MOST_GUESTS:
            self.refusals.tell("crowd", where, f"{MOST_GUESTS} Pyro5 clients are here")
            came.close()
            return
        session = ClientSession(
            self, SocketStream(came), where, self._most_bytes, self._sessions.discard
        )
        self._sessions.add(session)
        session.open(self._reactor, received)

    def close(self) -> None:
        """Hang up on everybody."""
        self._reactor.soon(self._close)

    def _close(self) -> None:
        for session in list(self._sessions):
            session.close()
        self.refusals.close()
