"""Ours: the post that carries messages between ranks of different clusters."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.echoes.contract import Rounds, listening, timed
from runtime.transport.credentials import Credentials
from runtime.wire import Incoming, PeerLeft
from runtime.wire.connecting import DirectConnector
from runtime.wire.directory import Directory, Party
from runtime.wire.post import Post

SECRET = b"not much of a secret: both ends are on this machine"
CLIENT, SERVER = 0, 1


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


def _post(me: int, ear: Ear, host: str, port: int) -> Post:
    # only the server can be dialled
    server = Party("1:0:0", "server", "here", (f"{host}:{port}",))
    parties = Party("0:0:0", "client", "here"), server
    directory = Directory(parties)
    credentials = Credentials(SECRET, directory.party(me).name)
    doors = [socket.create_server((host, port))] if me == SERVER else []
    connector = DirectConnector(me, directory, credentials)
    return Post(me, directory, ear, connector, doors=doors, credentials=credentials)


def _next(post: Post, ear: Ear) -> memoryview:
    while not ear.complete:
        if ear.why_alone is not None:
            raise ear.why_alone
        if not post.progress():
            post.ready(None)
    payload = ear.complete.popleft().payload
    assert payload is not None
    return payload


def serve(_way: str, host: str, port: int) -> None:
    """Send everything back, until the client has gone."""
    ear = Ear()
    post = _post(SERVER, ear, host, port)
    listening()
    try:
        while True:
            post.send(CLIENT, b"", [_next(post, ear)])
    except PeerLeft:
        post.close()


@contextmanager
def client(_way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    ear = Ear()
    post = _post(CLIENT, ear, host, port)

    def rounds(size: int, times: int) -> list[float]:
        there = [memoryview(bytes(size))]

        def trip() -> None:
            post.send(SERVER, b"", there)
            _next(post, ear)

        return timed(trip, times)

    try:
        yield rounds
    finally:
        post.close()
