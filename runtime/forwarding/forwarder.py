"""The forwarder of a front-end: opens routes for members of the run and joins the connections."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from runtime.forwarding.leading import Find, SilentStop, lead_on
from runtime.forwarding.pipes import Pipes
from runtime.forwarding.splice import Splice
from runtime.transport.credentials import Credentials
from runtime.transport.errors import FrameError, TransportError
from runtime.transport.listening import Admitted, Listener
from runtime.transport.reactor import READ, Reactor, Timer
from runtime.wire.dialling.forward_requests import Answer, ForwardRequest, RequestReader

_log = logging.getLogger(__name__)

REQUEST_TIMEOUT = 10.0
"""Seconds for a member to send its request, and to wait at a meeting."""

MOST_OPENING = 16
"""The most routes being opened at the same time; others wait."""

_PIECE = 4096


class Forwarder:
    """Listens at `addresses` of its own, as far as it can, and forwards.

    `find` returns the addresses of the stops that members may ask for. `linked` gets the
    connections of members that want the front-end itself, on the reactor's thread. It listens at
    `more` addresses too, for those who know these.

    Raises:
        Unreachable: nobody can listen at any of the addresses, or at one of the others.
    """

    def __init__(
        self,
        reactor: Reactor,
        addresses: Sequence[str],
        credentials: Credentials,
        find: Find,
        linked: Admitted | None = None,
        *,
        more: Sequence[str] = (),
        timeout: float = REQUEST_TIMEOUT,
    ) -> None:
        self.reactor = reactor
        self.timeout = timeout
        self._credentials = credentials
        self._find = find
        self._linked = linked
        self._splices: set[Splice] = set()
        self._pipes = Pipes()
        self._asking: set[_Asking] = set()
        self._waiting: dict[str, _Waiting] = {}
        self._threads = ThreadPoolExecutor(MOST_OPENING, "forwarder")
        self._moved_before = 0
        self._is_closed = False
        self.opened = 0
        """How many routes were opened."""
        self._listeners: list[Listener] = []
        self.faults: list[TransportError] = []
        """Why it does not listen at some addresses."""
        self.addresses = self._listen(addresses)
        """Where it listens."""
        self._listeners += (Listener(reactor, one, credentials, self._admit) for one in more)

    def _listen(self, addresses: Sequence[str]) -> tuple[str, ...]:
        for one in addresses:
            try:
                made = Listener(self.reactor, one, self._credentials, self._admit)
            except TransportError as fault:
                self.faults.append(fault)
            else:
                self._listeners.append(made)
        if self.faults and not self._listeners:
            raise self.faults[0]
        return tuple(one.address for one in self._listeners)

    @property
    def moved(self) -> int:
        """How many bytes were forwarded, both directions together."""
        return self._moved_before + sum(splice.moved for splice in self._splices)

    def close(self) -> None:
        """Close all connections; for any thread but the reactor's."""
        for listener in self._listeners:
            listener.close()
        done = threading.Event()
        self.reactor.soon(lambda: self._close(done))
        done.wait(self.timeout)
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _close(self, done: threading.Event) -> None:
        self._is_closed = True
        for asking in list(self._asking):
            asking.close()
        for waiting in self._waiting.values():
            if waiting.timer is not None:
                waiting.timer.cancel()
            waiting.connection.close()
        self._waiting.clear()
        for splice in list(self._splices):
            splice.close()
        self._pipes.close()
        done.set()

    def _admit(self, came: socket.socket, peer: str, received: bytes) -> None:
        asking = _Asking(self, came, peer)
        self._asking.add(asking)
        asking.begin(received)

    def forget(self, asking: _Asking) -> None:
        """Take note that a member has asked, or has hung up before."""
        self._asking.discard(asking)

    def open(self, came: socket.socket, peer: str, request: ForwardRequest, rest: bytes) -> None:
        """Open a route in a thread, since names have to be looked up and hosts may be slow."""
        if self._is_closed:
            came.close()
        elif request.is_link and self._linked is not None:
            _answer(came, Answer())
            self._linked(came, peer, rest)
        elif request.meets:
            self._meet(_Waiting(came, peer, request.stops[0], rest))
        else:
            self._threads.submit(self._dial, came, peer, request, rest)

    def _meet(self, second: _Waiting) -> None:
        """Join two connections that name the same meeting; the first one waits for the second."""
        first = self._waiting.pop(second.place, None)
        if first is None:
            self._waiting[second.place] = second
            second.timer = self.reactor.later(self.timeout, lambda: self._give_up(second))
            return
        if first.timer is not None:
            first.timer.cancel()
        for one in (first, second):
            _answer(one.connection, Answer())
        self._join(first.connection, second.connection, first.rest, second.rest)

    def _give_up(self, waiting: _Waiting) -> None:
        if self._waiting.pop(waiting.place, None) is not None:
            here = self._credentials.name
            why = f"{here}: nobody came to meet {waiting.peer} in {self.timeout:g} s"
            _answer(waiting.connection, Answer(why))
            waiting.connection.close()

    def _dial(self, came: socket.socket, peer: str, request: ForwardRequest, rest: bytes) -> None:
        try:
            made, received = lead_on(request.stops, self._find, self._credentials)
        except (OSError, TransportError) as error:
            _log.info("no route from %s to %s: %s", peer, request.stops[-1], error)
            why = f"{self._credentials.name}: {error}"
            _answer(came, Answer(why, is_silent=isinstance(error, SilentStop)))
            came.close()
            return
        _answer(came, Answer())
        self.reactor.soon(lambda: self._join(came, made, rest, received))

    def _join(self, came: socket.socket, made: socket.socket, rest: bytes, received: bytes) -> None:
        if self._is_closed:
            came.close()
            made.close()
            return
        splice = Splice(self.reactor, came, made, self._pipes, self._ended)
        self._splices.add(splice)
        self.opened += 1
        splice.open(rest, received)

    def _ended(self, splice: Splice) -> None:
        self._splices.discard(splice)
        self._moved_before += splice.moved


class _Waiting:
    """A member that waits at a meeting; bytes it has sent already go to the second one."""

    __slots__ = ("connection", "peer", "place", "rest", "timer")

    def __init__(self, connection: socket.socket, peer: str, place: str, rest: bytes) -> None:
        self.connection = connection
        self.peer = peer
        self.place = place
        self.rest = rest
        self.timer: Timer | None = None


class _Asking:
    """A connected member whose request has not been read yet."""

    def __init__(self, forwarder: Forwarder, came: socket.socket, peer: str) -> None:
        self._forwarder = forwarder
        self._reactor = forwarder.reactor
        self._socket = came
        self._peer = peer
        self._reader = RequestReader()
        self._is_open = True
        self._timer: Timer = self._reactor.later(forwarder.timeout, self.close)

    def begin(self, received: bytes) -> None:
        self._socket.setblocking(False)
        self._reactor.watch(self._socket.fileno(), READ, self._ready)
        self._feed(received)

    def close(self) -> None:
        if self._is_open:
            self._let_go()
            self._socket.close()

    def _let_go(self) -> None:
        self._is_open = False
        self._timer.cancel()
        self._reactor.watch(self._socket.fileno(), 0, self._ready)
        self._forwarder.forget(self)

    def _ready(self, events: int) -> None:  # noqa: ARG002 - there is only one kind
        try:
            received = self._socket.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if received:
            self._feed(received)
        else:
            self.close()

    def _feed(self, received: bytes) -> None:
        try:
            request = self._reader.feed(received)
        except FrameError as error:
            _log.warning("%s was sent away: %s", self._peer, error)
            self.close()
            return
        if request is not None:
            self._let_go()
            self._forwarder.open(self._socket, self._peer, request, self._reader.rest)


def _answer(came: socket.socket, answer: Answer) -> None:
    """Send a few bytes, which fit into what an idle connection takes at once."""
    try:
        came.send(answer.written())
    except OSError as error:
        _log.info("an answer could not be sent: %s", error)
