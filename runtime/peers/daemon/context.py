"""The context of a daemon's components: configuration, identity, and dialler of members."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from gcm.records import dataclass
from runtime.peers.booking import Hold
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.configuration.reading import PeerConfiguration
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.connections.passing import PassedConnections
from runtime.peers.model import Principal

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DaemonContext:
    """The context of a component. `dialler` has the daemon's credential, `port` is the daemon's.

    `passed` are the connections at that port which are for processes of this peer.

    `ending` is set as the first thing when the daemon ends, before it waits for calls to end.
    """

    folder: PeerFolder
    configuration: PeerConfiguration
    dialler: MemberDialler
    port: int
    version: str
    ending: threading.Event
    passed: PassedConnections

    @property
    def me(self) -> Principal:
        """The principal of the daemon."""
        return self.dialler.credential.principal


class Placed(Protocol):
    """The life of each component of a daemon: it begins with a context, and ends."""

    def begin(self, context: DaemonContext) -> None:
        """Start the component's own threads."""

    def end(self) -> None:
        """End it, and wait until that is done."""


class ReservedPlaces(Protocol):
    """Inside a peer: whether a reservation admits what its user asks of the services."""

    def check(self, caller: str, key: str) -> None:
        """Raise Refused unless a reservation with this key is the caller's."""

    def confirm(self, caller: str, key: str, application: str, used: int) -> Hold:
        """Take a reservation to start something in so many of its places; raises Refused."""

    def ended(self, key: str) -> None:
        """Free the places: all processes that were started with the key have ended."""


class Standing(Protocol):
    """Inside a peer: the status of one of its components."""

    def facts(self) -> dict[str, object]:
        """Return plain data."""


class Repeated:
    """A thread that calls something, waits for a while, and calls it again, until `close`."""

    def __init__(self, name: str, call: Callable[[], float | None], pause: float) -> None:
        self._call = call
        self._pause = pause
        self._woken = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def now(self) -> None:
        """Call again at once."""
        self._woken.set()

    def close(self) -> None:
        """End it, and wait for a call that goes on."""
        self._closing = True
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            pause: float | None = None
            try:
                pause = self._call()
            except Exception:
                log.exception("%s failed", self._thread.name)
            self._woken.wait(self._pause if pause is None else pause)
            self._woken.clear()
