"""The channels of a host, and which of them leads to which component."""

from __future__ import annotations

import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.hosting.routes import RoutingTable
from runtime.lazy_import import logger
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.credentials import Credentials
from runtime.transport.errors import AuthenticationFailed, ChannelClosed, Unreachable
from runtime.transport.lean import dial
from runtime.transport.listening import Listener
from runtime.transport.messages import Codec, Target
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream, SocketStream

DIAL_AGAIN_SECONDS = 30.0
"""How long an address is not dialled again at which nobody answered."""

MOST_OF_ONE = 8
"""How many connections one other process may have here; it needs one, and may begin anew."""

_log = logger(__name__)


class Here:
    """The way to what this process itself serves."""


HERE = Here()


class HostChannels(ABC):
    """Reaches the components of other processes, and passes on the calls of others to them.

    Calls to a path go over the channel whose prefix fits best; what is under `home` is here. The
    reactor is not its own: its maker closes it, later.
    """

    codec: Codec
    """Writes and opens what goes over the channels."""

    def __init__(self, home: str, reactor: Reactor) -> None:
        self.home = home
        self.reactor = reactor
        self.routes: RoutingTable[Channel | Here] = RoutingTable()
        self.routes.add(home, HERE)
        self.address = ""
        self.credentials: Credentials | None = None
        self._direct: dict[str, Channel] = {}
        self._dial_again: dict[str, float] = {}
        self._dialling = threading.Lock()
        self._channels: set[Channel] = set()
        self._lock = threading.Lock()

    @abstractmethod
    def serve(self, request: IncomingCall) -> Future[Any] | IncomingCall | None:
        """Serve a call that came in over a channel: what channels are given as their handler."""

    @abstractmethod
    def serve_here(self, invocation: Invocation) -> Future[Any]:
        """Serve a call of this process to a component of its own."""

    @abstractmethod
    def forget(self, channel: Channel) -> None:
        """Dismiss the clients that called over a channel, which has ended."""

    # -- channels --------------------------------------------------------------------------------

    def channel(
        self, stream: ByteStream, peer: str, prefixes: Iterable[str] = (), received: bytes = b""
    ) -> Channel:
        """Open a channel over `stream`, by which everything under `prefixes` is reached.

        `received` is what came with the handshake. When the channel ends, its routes go, and the
        clients that called over it are dismissed.
        """
        made = Channel(
            self.reactor,
            stream,
            peer,
            self.serve,
            relay=lambda target: self.onward(target, made),
            codec=self.codec,
        )
        for prefix in prefixes:
            self.routes.add(prefix, made)
        with self._lock:
            self._channels.add(made)
        made.when_closed(lambda why: self._lost(made, why))
        return made.open(received)

    def listen(self, address: str, credentials: Credentials) -> Listener:
        """Let other processes of the run connect to `address`; their own paths are then reached.

        Their names have to be such homes: paths below the root that nothing here has.

        Raises:
            Unreachable: nobody can listen there.
        """

        def admitted(came: socket.socket, peer: str, received: bytes) -> None:
            with self._lock:
                has_many = sum(one.peer == peer for one in self._channels) >= MOST_OF_ONE
            if has_many or not self._is_home_of_another(peer):
                why = "one connection too many" if has_many else "no home of another process"
                _log.warning("%s was refused: that is %s", peer, why)
                came.close()
                return
            self.channel(SocketStream(came), peer, [peer], received)

        return Listener(self.reactor, address, credentials, admitted)

    def dial(
        self,
        address: str,
        credentials: Credentials,
        prefixes: Iterable[str] = (),
        *,
        peer: str = "",
    ) -> Channel:
        """Connect to a process that listens, to reach what is under its home and `prefixes`.

        `peer` is the name that it should have; it may be left out where all share a secret.

        Raises:
            Unreachable: nobody answers there.
            AuthenticationFailed: who answers does not belong to the run.
        """
        connected, peer, received = dial(address, credentials, peer=peer)
        return self.channel(SocketStream(connected), peer, [peer, *prefixes], received)

    def reach(self, address: str, home: str, prefixes: Iterable[str] = ()) -> bool:
        """Try to reach what is under a home and `prefixes` without detours; tell if it works.

        It is where this process has `credentials`, and somebody answers. An address where nobody
        did is left alone for a while: the detour that is known works too.
        """
        if self.credentials is None:
            return False
        with self._dialling:
            known = self._direct.get(address)
            if known is None or known.is_closed:
                if time.monotonic() < self._dial_again.get(address, 0.0):
                    return False
                try:
                    known = self._direct[address] = self.dial(address, self.credentials, peer=home)
                except (Unreachable, AuthenticationFailed):
                    self._dial_again[address] = time.monotonic() + DIAL_AGAIN_SECONDS
                    return False
        for prefix in (home, *prefixes):
            if self.routes.find(prefix) is not known:
                self.routes.add(prefix, known)
        return True

    def links(self) -> dict[str, tuple[int, int]]:
        """Return how many bytes were sent to each connected process, and received from it."""
        with self._lock:
            channels = tuple(self._channels)
        found: dict[str, tuple[int, int]] = {}
        for one in channels:
            sent, received = found.get(one.peer, (0, 0))
            found[one.peer] = sent + one.sent_bytes, received + one.received_bytes
        return found

    def close(self) -> None:
        """Close all channels; the reactor goes on."""
        with self._lock:
            channels = list(self._channels)
        for channel in channels:
            channel.close()

    # -- calls -----------------------------------------------------------------------------------

    def reaches(self, component: str) -> bool:
        """Tell whether anything leads to a component."""
        return self.routes.find(component) is not None

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send a call to wherever its component is: this is a `Caller`."""
        way = self.routes.find(invocation.component)
        if isinstance(way, Channel):
            return way.call(invocation, self.codec)
        try:
            if way is None:
                raise self._unreachable(invocation)
            return self.serve_here(invocation)
        except Exception as error:  # the future's readers get it
            future: Future[Any] = Future(invocation)
            future.set_exception(error)
            return future

    def ask(self, invocation: Invocation) -> Any:
        """Make a call and return its result, or raise what it raises."""
        way = self.routes.find(invocation.component)
        if isinstance(way, Channel):
            return way.ask(invocation, self.codec)
        return self.call(invocation).result()

    def note(self, invocation: Invocation) -> None:
        """Send a call that nobody waits for; raises Unreachable, ChannelClosed."""
        way = self.routes.find(invocation.component)
        if isinstance(way, Channel):
            way.note(invocation)
        elif way is None:
            raise self._unreachable(invocation)
        else:
            self.serve_here(invocation)

    def onward(self, target: Target, source: Channel) -> Channel | None:
        """Return over which other channel a call goes on that came over one."""
        way = self.routes.find(target.component)
        return way if isinstance(way, Channel) and way is not source else None

    # -- within ----------------------------------------------------------------------------------

    def _is_home_of_another(self, path: str) -> bool:
        """Tell whether a path can be reached elsewhere, without anything of this process."""
        is_below = path.startswith("/") and path.strip("/") != ""
        holds_this = f"{self.home}/".startswith(f"{path.rstrip('/')}/")
        return is_below and not holds_this and self.routes.find(path) is not HERE

    def _lost(self, channel: Channel, why: ChannelClosed) -> None:
        with self._lock:
            self._channels.discard(channel)
        self.routes.remove(channel, f"{channel.peer}: {why.what}")
        self.forget(channel)

    def _unreachable(self, target: Invocation | Target) -> Exception:
        why = self.routes.why_lost(target.component)
        if why:
            return ChannelClosed(f"nothing leads to {target} any more", place=self.home, cause=why)
        return Unreachable(
            f"nothing leads to {target}",
            place=self.home,
            cure="Publish the component, and give its path to a channel",
        )
