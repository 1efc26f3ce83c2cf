"""The forwarder of a front-end: opens ways for members of the run, and joins what they connect."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from runtime.forwarding.splice import Splice
from runtime.forwarding.words import Answer, AnswerReader, Request, RequestReader
from runtime.transport.credentials import Credentials
from runtime.transport.errors import FrameError, TransportError, Unreachable
from runtime.transport.lean import dial, socket_for
from runtime.transport.listening import Door
from runtime.transport.reactor import READ, Reactor, Timer

_log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds to open the next connection of a way, and for a member to say where it wants to go."""

MOST_OPENING = 16
"""How many ways may be opened at the same time; more have to wait."""

_PIECE = 4096

Find = Callable[[str], tuple[str, ...]]
"""Returns the addresses of a stop, the best one first."""


class Forwarder:
    """Listens at a door of its own and forwards.

    `find` knows the addresses of the stops that this front-end can be asked for.

    Raises:
        Unreachable: nobody can listen at `address`.
    """

    def __init__(
        self, reactor: Reactor, address: str, credentials: Credentials, find: Find
    ) -> None:
        self._reactor = reactor
        self._credentials = credentials
        self._find = find
        self._splices: set[Splice] = set()
        self._asking: set[_Asking] = set()
        self._threads = ThreadPoolExecutor(MOST_OPENING, "forwarder")
        self._moved_before = 0
        self._is_closed = False
        self.opened = 0
        """How many ways were opened."""
        self._door = Door(reactor, address, credentials, self._admit)
        self.address = self._door.address

    @property
    def moved(self) -> int:
        """How many bytes were forwarded, both ways together."""
        return self._moved_before + sum(splice.moved for splice in self._splices)

    def close(self) -> None:
        """Hang up on everybody; any thread but the reactor's may do so."""
        self._door.close()
        done = threading.Event()
        self._reactor.soon(lambda: self._close(done))
        done.wait(PATIENCE)
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _close(self, done: threading.Event) -> None:
        self._is_closed = True
        for asking in list(self._asking):
            asking.close()
        for splice in list(self._splices):
            splice.close()
        done.set()

    def _admit(self, came: socket.socket, peer: str, received: bytes) -> None:
        asking = _Asking(self._reactor, came, peer, self._open, self._asking.discard)
        self._asking.add(asking)
        asking.begin(received)

    def _open(self, came: socket.socket, peer: str, request: Request, rest: bytes) -> None:
        """Open the way in a thread, since names have to be looked up and others may be slow."""
        if self._is_closed:
            came.close()
            return
        self._threads.submit(self._dial, came, peer, request, rest)

    def _dial(self, came: socket.socket, peer: str, request: Request, rest: bytes) -> None:
        try:
            made, received = _way(request.stops, self._find, self._credentials)
        except (OSError, TransportError) as error:
            _log.info("no way from %s to %s: %s", peer, request.stops[-1], error)
            _answer(came, Answer(f"{self._credentials.name}: {error}"))
            came.close()
            return
        _answer(came, Answer())
        self._reactor.soon(lambda: self._join(came, made, rest, received))

    def _join(self, came: socket.socket, made: socket.socket, rest: bytes, received: bytes) -> None:
        if self._is_closed:
            came.close()
            made.close()
            return
        splice = Splice(self._reactor, came, made, self._ended)
        self._splices.add(splice)
        self.opened += 1
        splice.open(rest, received)

    def _ended(self, splice: Splice) -> None:
        self._splices.discard(splice)
        self._moved_before += splice.moved


class _Asking:
    """A member that has come in and says where it wants to go."""

    def __init__(
        self,
        reactor: Reactor,
        came: socket.socket,
        peer: str,
        asked: Callable[[socket.socket, str, Request, bytes], None],
        gone: Callable[[_Asking], None],
    ) -> None:
        self._reactor = reactor
        self._socket = came
        self._peer = peer
        self._asked = asked
        self._gone = gone
        self._reader = RequestReader()
        self._is_open = True
        self._timer: Timer = reactor.later(PATIENCE, self.close)

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
        self._gone(self)

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
            self._asked(self._socket, self._peer, request, self._reader.rest)


def _way(
    stops: tuple[str, ...], find: Find, credentials: Credentials
) -> tuple[socket.socket, bytes]:
    """Return a connection to the next stop that leads on to the last, and what came over it."""
    addresses = find(stops[0])
    if not addresses:
        raise Unreachable("its address is not known here", place=stops[0])
    faults: list[str] = []
    for address in addresses:
        try:
            return _through(address, stops[1:], credentials) if stops[1:] else _to(address)
        except (OSError, TransportError) as error:
            faults.append(str(error))
    raise Unreachable("; ".join(faults), place=stops[0])


def _to(address: str) -> tuple[socket.socket, bytes]:
    """Connect to the end of a way; it proves itself to who comes, not to this forwarder."""
    bare, where = socket_for(address)
    made = socket.socket(fileno=bare.detach())
    try:
        made.settimeout(PATIENCE)
        made.connect(where)
    except OSError as error:
        made.close()
        raise Unreachable(f"nobody answers: {error}", place=address) from error
    return made, b""


def _through(
    address: str, stops: tuple[str, ...], credentials: Credentials
) -> tuple[socket.socket, bytes]:
    """Let another front-end lead on."""
    bare, _, received = dial(address, credentials, PATIENCE)
    made = socket.socket(fileno=bare.detach())
    reader = AnswerReader()
    deadline = time.monotonic() + 2 * PATIENCE
    try:
        made.settimeout(PATIENCE)
        made.sendall(Request(stops).written())
        answer = reader.feed(received)
        while answer is None:
            made.settimeout(max(0.001, deadline - time.monotonic()))
            data = made.recv(_PIECE)
            if not data:
                raise Unreachable("it hung up", place=address)
            answer = reader.feed(data)
        if not answer.is_open:
            raise Unreachable(answer.why, place=address)
    except BaseException:
        made.close()
        raise
    return made, reader.rest


def _answer(came: socket.socket, answer: Answer) -> None:
    """Send a few bytes, which fit into what an idle connection takes at once."""
    try:
        came.send(answer.written())
    except OSError as error:
        _log.info("an answer could not be sent: %s", error)
