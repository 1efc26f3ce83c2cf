"""Ordinary Pyro5 clients, and the objects that were exposed to them."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gcm.interfaces.future import Future
from runtime.transport.crowding import RefusalLog, who_goes
from runtime.transport.lean import HANDSHAKE_SECONDS
from runtime.transport.pyro.session import ClientSession
from runtime.transport.pyro_messages import JSON, MSGPACK, SERPENT
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream

_log = logging.getLogger(__name__)

MOST_GUESTS = 256
"""How many clients may be connected at one time."""

MOST_BYTES = {SERPENT: 8 << 20, JSON: 8 << 20, MSGPACK: 4 << 20}
"""How large a message of a client may be, by its serializer; see `structure` for what is in it."""

MOST_HELD = 64 << 20
"""How many bytes the messages of all clients may take while they are unfinished or wait."""

_SHARE = 4  # of the descriptors that the process may have, at most a quarter is for clients

Serve = Callable[[str, tuple[Any, ...], dict[str, Any]], Future[Any]]


class ServedObject:
    """One object that clients may call: the names of its methods, and what serves a call."""

    def __init__(self, methods: Iterable[str], serve: Serve, oneway: Iterable[str] = ()) -> None:
        self.methods = tuple(methods)
        self.oneway = tuple(oneway)
        self.serve = serve


class Guests:
    """Serves the clients that a `Door` hands over.

    Nothing is reached but what was exposed by name. A client is sent away that sends what is no
    call, or more than `most_bytes` at once (by default what its serializer may), or does not say
    within `patience` seconds to which object it connects. Where all places are taken, the client
    goes that has been idle for longest; where the messages of all clients take too much memory, the
    one whose message has been unfinished for longest. The calls of one client are served one after
    another, as Pyro5 does.

    >>> guests = Guests(reactor)                                                  # doctest: +SKIP
    >>> Door(reactor, "127.0.0.1:0", credentials, members, guests=guests.receive)  # doctest: +SKIP
    >>> guests.expose("greeter", Served(["greet"], serve))                        # doctest: +SKIP
    """

    def __init__(
        self,
        reactor: Reactor,
        *,
        most_bytes: int = 0,
        most_held: int = MOST_HELD,
        most: int = MOST_GUESTS,
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
        self._served: dict[str, ServedObject] = {}
        self._lock = threading.Lock()
        self.refusals = RefusalLog(_log, time.monotonic)
        """Tells of clients that were sent away; for the reactor's thread."""

    def expose(self, name: str, served: ServedObject) -> None:
        """Let clients call an object under a name, from now on."""
        with self._lock:
            self._served[name] = served

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
        if not self._has_room():
            self.refusals.tell("crowd", where, f"{self._most} Pyro5 clients are being served")
            came.close()
            return
        stream = SocketStream(came)
        session = ClientSession(self, self._reactor, stream, where, most_bytes=self._most_bytes)
        self._sizes[session] = 0
        session.open(received, self._patience)

    def _has_room(self) -> bool:
        """Return whether one more may come in now, for whom an idle one may have to go."""
        if len(self._sizes) < self._most:
            return True
        idle = who_goes((one for one in self._sizes if one.is_idle), time.monotonic())
        if idle is not None:
            idle.send_away("crowd", "it was idle while others were waiting for a place")
        return idle is not None

    def holds(self, session: ClientSession, size: int) -> None:
        """Take note of how much memory the messages of a client take now; some may have to go."""
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
        """Take note that a client has gone."""
        self._held -= self._sizes.pop(session, 0)

    def close(self) -> None:
        """Hang up on everybody."""
        self._reactor.soon(self._close)

    def _close(self) -> None:
        for session in list(self._sizes):
            session.close()
        self.refusals.close()
