"""The host: one process of the run with its components, its channels, and the ways to others."""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from gcm.components.model import Component
from gcm.interfaces.future import Future
from gcm.interfaces.interface import ClientInterface, ServerEnd
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import InterfaceType
from gcm.invocation import Invocation
from runtime.hosting.exports import Exports
from runtime.hosting.lent_blocks import LentBlocks
from runtime.hosting.references import ReferenceCodec
from runtime.hosting.remote import BINDING, TYPE_OF, RemoteInterface
from runtime.hosting.routes import RoutingTable, only
from runtime.hosting.serving import Serving
from runtime.later import logger
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.credentials import Credentials
from runtime.transport.errors import AuthenticationFailed, ChannelClosed, Unreachable
from runtime.transport.lean import dial
from runtime.transport.listening import Door
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


class Host:
    """Serves the components of this process and reaches those of others.

    `home` is a path that belongs to this process alone, such as `/grid/site0/cluster0`. Calls to a
    path go over the channel whose prefix fits best, and calls that come in for somebody else are
    passed on unopened. The reactor is not the host's own: its maker closes it, later.

    >>> host = Host("/node1", reactor)                                  # doctest: +SKIP
    >>> host.publish("/app/worker", worker)                             # doctest: +SKIP
    >>> host.channel(PipeStream(0, 1), "launcher", ["/"])               # doctest: +SKIP
    >>> component.bind("next", host.find("/app/other", "work"))         # doctest: +SKIP
    """

    def __init__(self, home: str, reactor: Reactor) -> None:
        self.home = home
        self.reactor = reactor
        self.exports = Exports(home)
        self.routes: RoutingTable[Channel | Here] = RoutingTable()
        self.routes.add(home, HERE)
        self.codec: Codec = ReferenceCodec(self)
        self.blocks = LentBlocks(self)
        self.address = ""
        self.credentials: Credentials | None = None
        self._direct: dict[str, Channel] = {}
        self._dial_again: dict[str, float] = {}
        self._dialling = threading.Lock()
        self._serving = Serving(self.exports, self.blocks, home, reactor)
        self._remotes: weakref.WeakValueDictionary[str, RemoteInterface] = (
            weakref.WeakValueDictionary()
        )
        self._channels: set[Channel] = set()
        self._lock = threading.Lock()

    # -- what is here ----------------------------------------------------------------------------

    def publish(self, path: str, component: Component, *, alone: bool = False) -> None:
        """Let others reach `component` under `path`, and unless `alone` everything inside it."""
        self.exports.publish(path, component)
        self.routes.add(only(path) if alone else path, HERE)

    def withdraw(self, path: str) -> None:
        """Take back what `publish` did."""
        self.exports.withdraw(path)
        self._serving.forget_ways()
        self.routes.drop(path)
        self.routes.drop(only(path))

    def name_of_client(self, client: ClientInterface) -> str:
        """Return what others call a client interface of this process."""
        path = self.exports.name_of(client.owner) or f"{self.home}{client.owner.path}"
        return f"{path}.{client.name}"

    # -- what is elsewhere -----------------------------------------------------------------------

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

    def listen(self, address: str, credentials: Credentials) -> Door:
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

        return Door(self.reactor, address, credentials, admitted)

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

    def find(self, component: str, interface: str) -> ServerEnd:
        """Return the server end of that path, here or elsewhere; its owner is asked.

        Raises:
            NoSuchComponentError, NoSuchInterfaceError: there is none.
            Unreachable, ChannelClosed: nothing leads there.
        """
        if self.routes.find(component) is HERE:
            return self.exports.server(component, interface)
        asked = self.call(Invocation(component, BINDING, TYPE_OF, (interface,)))
        return self.end(component, interface, asked.result())

    def end(self, component: str, interface: str, type: InterfaceType) -> ServerEnd:
        """Return the server end that a reference means; its type is known."""
        if self.routes.find(component) is HERE:
            return self.exports.server(component, interface)
        return self._remote(component, interface, type)

    def stub(self, component: str, interface: str, type: InterfaceType) -> Stub:
        """Return the stub that a reference means: the very one that was sent, if it is home."""
        if self.routes.find(component) is HERE:
            return self.exports.stub(component, interface)
        return self._remote(component, interface, type).stub

    def reaches(self, component: str) -> bool:
        """Tell whether anything leads to a component."""
        return self.routes.find(component) is not None

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send a call to wherever its component is: the host is a `Caller`."""
        way = self.routes.find(invocation.component)
        if isinstance(way, Channel):
            return way.call(invocation, self.codec)
        try:
            if way is None:
                raise self._unreachable(invocation)
            return self._serving.serve(_target(invocation), lambda: invocation, self)
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

    def work(self, work: Callable[[], object]) -> bool:
        """Do something in a thread that may wait; return False once the host is closed."""
        return self._serving.work(work)

    def links(self) -> dict[str, tuple[int, int]]:
        """Return how many bytes were sent to each connected process, and received from it."""
        with self._lock:
            channels = tuple(self._channels)
        found: dict[str, tuple[int, int]] = {}
        for one in channels:
            sent, received = found.get(one.peer, (0, 0))
            found[one.peer] = sent + one.sent_bytes, received + one.received_bytes
        return found

    def note(self, invocation: Invocation) -> None:
        """Send a call that nobody waits for; raises Unreachable, ChannelClosed."""
        way = self.routes.find(invocation.component)
        if isinstance(way, Channel):
            way.note(invocation)
        elif way is None:
            raise self._unreachable(invocation)
        else:
            self._serving.serve(_target(invocation), lambda: invocation, self)

    def close(self) -> None:
        """Close all channels and let the workers end; the reactor goes on."""
        with self._lock:
            channels = list(self._channels)
        for channel in channels:
            channel.close()
        self._serving.close()

    def _is_home_of_another(self, path: str) -> bool:
        """Tell whether a path can be reached elsewhere, without anything of this process."""
        is_below = path.startswith("/") and path.strip("/") != ""
        holds_this = f"{self.home}/".startswith(f"{path.rstrip('/')}/")
        return is_below and not holds_this and self.routes.find(path) is not HERE

    # -- within ----------------------------------------------------------------------------------

    def _remote(self, component: str, interface: str, type: InterfaceType) -> RemoteInterface:
        path = f"{component}.{interface}"
        known = self._remotes.get(path)
        if known is None or known.type != type:
            known = self._remotes[path] = RemoteInterface(self, component, interface, type)
        return known

    def onward(self, target: Target, source: Channel) -> Channel | None:
        """Return over which other channel a call goes on that came over one."""
        way = self.routes.find(target.component)
        return way if isinstance(way, Channel) and way is not source else None

    def serve(self, request: IncomingCall) -> Future[Any] | IncomingCall:
        """Serve a call that came in over a channel: what channels are given as their handler."""
        path = request.target.component
        if self.routes.find(path) is not HERE and self.routes.why_lost(path):
            raise self._unreachable(request.target)
        request.codec = self.codec
        if self._serving.takes(request):
            return request
        return self._serving.serve(request.target, request.invocation, request.channel)

    def _lost(self, channel: Channel, why: ChannelClosed) -> None:
        with self._lock:
            self._channels.discard(channel)
        self.routes.remove(channel, f"{channel.peer}: {why.what}")
        self._serving.forget(channel)

    def _unreachable(self, target: Invocation | Target) -> Exception:
        why = self.routes.why_lost(target.component)
        if why:
            return ChannelClosed(f"nothing leads to {target} any more", place=self.home, cause=why)
        return Unreachable(
            f"nothing leads to {target}",
            place=self.home,
            cure="Publish the component, and give its path to a channel",
        )


def _target(call: Invocation) -> Target:
    return Target(call.component, call.interface, call.operation, call.client, call.chain)
