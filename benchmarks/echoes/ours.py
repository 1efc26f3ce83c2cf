"""Ours: messages between ranks of different clusters, and calls between components of processes.

`post` is a direct connection, `tls` one that is encrypted, and `forwarded` one through the
front-ends of both ends, each in a process of its own; `component` is a call with bytes as argument
and as result.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event
from typing import Any, Protocol, cast

from benchmarks.echoes.contract import Rounds, listening, timed
from benchmarks.echoes.members import ENDS, FRONT_ENDS, member
from gcm import primitive, provides
from runtime.forwarding.forwarder import Forwarder
from runtime.hosting.host import Host
from runtime.transport.brief_waits import BriefWaits
from runtime.transport.credentials import Credentials
from runtime.transport.reactor import Reactor
from runtime.wire import Incoming, PeerLeft
from runtime.wire.dialling.connecting import Attempt, Connector, Dialling, DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.forwarded import Forwarded
from runtime.wire.peer_connections import PeerConnections

CLIENT, SERVER = 0, 1
LOOPBACK = "127.0.0.1"


class Ear:
    """Gives each message the buffer of the one before it, where that fits."""

    def __init__(self) -> None:
        self.complete: deque[Incoming] = deque()
        self.why_alone: Exception | None = None
        self._buffer = memoryview(bytearray())

    def arrived(self, incoming: Incoming) -> None:
        """Match it at once."""
        if len(self._buffer) != incoming.size:
            self._buffer = memoryview(bytearray(incoming.size))
        incoming.give(self._buffer)
        if incoming.done:
            self.complete.append(incoming)

    def completed(self, incoming: Incoming) -> None:
        """Note it."""
        self.complete.append(incoming)

    def lost(self, _peer: int, why: Exception) -> None:
        """Know that the other end has gone."""
        self.why_alone = why


class _ByFrontEnds(Connector):
    """Asks the front-end at a port of this host for the way by both of them."""

    def __init__(self, port: int, credentials: Credentials) -> None:
        self._ways = (f"{LOOPBACK}:{port}",)
        self._credentials = credentials

    def connect(self, _peer: int, now: float) -> Attempt:
        """Begin."""
        mine, theirs = FRONT_ENDS
        first = Dialling("the first front-end", mine, self._ways, self._credentials, now)
        stops = (theirs, ENDS[SERVER])
        return Forwarded(first, stops, "the server", ENDS[SERVER], self._credentials)

    def again(self, _peer: int, _now: float) -> Attempt | None:
        """One connection has to do."""
        return None

    def joined(self, _peer: int, *, is_dialled: bool) -> None:
        """Nobody asks here who has dialled."""


@contextmanager
def _front_end(way: str, me: int, host: str, port: int) -> Iterator[int]:
    """Run the front-end of this end if the way needs one; return its port."""
    if way != "forwarded":
        yield 0
        return
    mine = port + 1 + me
    there = f"{FRONT_ENDS[SERVER]}={host}:{port + 1 + SERVER}"
    stops = there if me == CLIENT else f"{ENDS[SERVER]}={host}:{port}"
    words = [FRONT_ENDS[me], f"{LOOPBACK if me == CLIENT else host}:{mine}", stops]
    command = [sys.executable, "-m", "benchmarks.echoes", "forward", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield mine


def _connections(
    way: str, me: int, ear: Ear, where: tuple[str, int], front_end: int
) -> PeerConnections:
    host, port = where
    # only the server can be dialled
    server = Party(ENDS[SERVER], "server", "here", (f"{host}:{port}",))
    parties = Party(ENDS[CLIENT], "client", "here"), server
    directory = RankDirectory(parties)
    credentials = member(ENDS[me], encrypts=way == "tls")
    listeners = [socket.create_server((host, port))] if me == SERVER else []
    connector: Connector = DirectConnector(me, directory, credentials)
    if front_end:
        connector = _ByFrontEnds(front_end, credentials)
    return PeerConnections(
        me, directory, ear, connector, listeners=listeners, credentials=credentials
    )


def _next(connections: PeerConnections, ear: Ear) -> memoryview:
    while not ear.complete:
        if ear.why_alone is not None:
            raise ear.why_alone
        if not connections.progress():
            connections.ready(None)
    payload = ear.complete.popleft().payload
    assert payload is not None
    return payload


def _serve_messages(way: str, host: str, port: int) -> None:
    """Send everything back, until the client has gone."""
    ear = Ear()
    with _front_end(way, SERVER, host, port) as front_end:
        connections = _connections(way, SERVER, ear, (host, port), front_end)
        listening()
        try:
            while True:
                connections.send(CLIENT, b"", [_next(connections, ear)])
        except PeerLeft:
            connections.close()


@contextmanager
def _message_client(way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    ear = Ear()
    with _front_end(way, CLIENT, host, port) as front_end:
        connections = _connections(way, CLIENT, ear, (host, port), front_end)

        def rounds(size: int, times: int) -> list[float]:
            there = [memoryview(bytes(size))]

            def trip() -> None:
                connections.send(SERVER, b"", there)
                _next(connections, ear)

            return timed(trip, times)

        try:
            yield rounds
        finally:
            connections.close()


def forward(name: str, address: str, *told: str) -> None:
    """Forward for one end, until standard input ends; `told` are stops with their addresses."""
    stops = dict(one.split("=", 1) for one in told)

    def find(stop: str) -> tuple[str, ...]:
        return (stops[stop],) if stop in stops else ()

    with Reactor() as reactor:
        forwarder = Forwarder(reactor, [address], member(name, encrypts=False), find)
        listening()
        sys.stdin.read()
        forwarder.close()


PATH, CALLER = "/echo", "/client"


class Echoing(Protocol):
    """Gives back what it is given."""

    def echo(self, data: Any) -> Any:
        """Return the same."""


@provides("echo", Echoing)
class Echo:
    """The content of the component that answers."""

    def echo(self, data: Any) -> Any:
        """Return the same."""
        return data


def _serve_component(host: str, port: int) -> None:
    """Send everything back until killed."""
    with Reactor(brief_waits=BriefWaits()) as reactor:
        here = Host(PATH, reactor)
        component = primitive(Echo)
        component.start()
        here.publish(PATH, component)
        here.listen(f"{host}:{port}", member(PATH, encrypts=False))
        listening()
        Event().wait()


@contextmanager
def _component_client(host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    with Reactor(brief_waits=BriefWaits()) as reactor:
        here = Host(CALLER, reactor)
        here.dial(f"{host}:{port}", member(CALLER, encrypts=False))
        found: Any = here.find(PATH, "echo")
        stub = cast("Echoing", found.stub)

        def rounds(size: int, times: int) -> list[float]:
            import numpy as np

            data: Any = np.zeros(size, np.uint8) if size >= 1 << 14 else bytes(size)
            return timed(lambda: stub.echo(data), times)

        yield rounds
        here.close()


def serve(way: str, host: str, port: int) -> None:
    """Send everything back, messages until the client has gone, calls until killed."""
    if way == "component":
        _serve_component(host, port)
    else:
        _serve_messages(way, host, port)


def client(way: str, host: str, port: int) -> AbstractContextManager[Rounds]:
    """Connect."""
    if way == "component":
        return _component_client(host, port)
    return _message_client(way, host, port)
