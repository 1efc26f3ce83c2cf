"""The process at one end of a tunnel, beside a front-end: connections to frames and back."""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from runtime.launchers.wire import frame, frames
from runtime.tunnels.carried import Carried
from runtime.tunnels.frames import (
    CREDIT,
    DATA,
    GONE,
    LEASE,
    OPEN,
    PIECE,
    PING,
    RESET,
    SHUT,
    connections,
    end_and_connection,
    number_of,
)

MODULE = "runtime.tunnels.end"

MOST_HELD = 1 << 20
"""Bytes on their way to the hub beyond which nothing more is read of connections."""

MOST_ANSWERS = 1 << 18
"""Further bytes, which answer what comes, beyond which nobody is answered who opens a connection.

An end that reads its answers never makes so many.
"""

MOST_OPEN = 1024
"""Connections at a time beyond which no more are opened for other ends."""

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

Key = tuple[int, int]
"""The other end, and the number of the connection."""


class TunnelEndSettings(NamedTuple):
    """What an end is told as it is started, in its command line: nothing of it is secret.

    `sockets` are the paths where its front-end connects, by the number of the other end; `target`
    is the path of the socket at which that takes connections. The parts of the `marker` are apart,
    so that what echoes the command line does not say it.

    >>> told = TunnelEndSettings(0, ("gcm-", "7f"), {1: "/run/to1"}, "/run/in")
    >>> TunnelEndSettings.parse(told.text) == told
    True
    """

    me: int
    marker: tuple[str, ...]
    sockets: Mapping[int, str]
    target: str

    @classmethod
    def parse(cls, text: str) -> TunnelEndSettings:
        """Return what `text` made."""
        me, marker, sockets, target = json.loads(text)
        return cls(me, tuple(marker), {int(other): path for other, path in sockets.items()}, target)

    @property
    def text(self) -> str:
        """What stands in the command line."""
        return json.dumps(self)


class TunnelEnd:
    """Carries the connections between this front-end and those at other ends.

    `sockets` are where the front-end connects, by the number of the other end; `target` is the path
    of the socket at which it takes connections of others. `source` and `sink` lead to the hub.
    """

    def __init__(
        self, me: int, sockets: Mapping[int, socket.socket], target: str, source: int, sink: int
    ) -> None:
        self._target = target
        self._source, self._sink = source, sink
        self._numbers = {other: connections(me, other) for other in sockets}
        self._carried: dict[Key, tuple[Carried, socket.socket]] = {}
        self._received = bytearray()
        self._to_send = bytearray()
        self._heard = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._selector.register(source, _READ, None)
        for other, listener in sockets.items():
            listener.setblocking(False)
            self._selector.register(listener, _READ, other)
        for descriptor in (source, sink):
            os.set_blocking(descriptor, False)

    def run(self) -> None:
        """Serve until the hub has gone."""
        while time.monotonic() - self._heard < LEASE:
            for key, events in self._selector.select(LEASE / 10):
                if key.fd == self._source:
                    if not self._read():
                        return
                elif key.fd == self._sink:
                    self._flush()
                elif isinstance(key.data, int):
                    self._accept(key.fileobj, key.data)
                else:
                    self._serve(key.data, events)
            self._watch_all()

    def close(self) -> None:
        """Hang up everywhere."""
        for key in list(self._carried):
            self._drop(key)
        self._selector.close()

    # --- the hub ----------------------------------------------------------------------------------

    def _read(self) -> bool:
        with suppress(BlockingIOError):
            data = os.read(self._source, 4 * PIECE)
            if not data:
                return False
            self._heard = time.monotonic()
            self._received += data
        for kind, number, payload in frames(self._received, PIECE):
            self._handle(kind, end_and_connection(number), payload)
        return True

    def _handle(self, kind: bytes, key: Key, payload: bytes) -> None:
        if kind == PING:
            self._send(PING, key, payload)
        elif kind == GONE:
            for known in [known for known in self._carried if known[0] == key[0]]:
                self._drop(known)
        elif kind == OPEN:
            self._open(key)
        elif key in self._carried:
            carried, connected = self._carried[key]
            if kind == DATA and carried.inwards(payload):
                self._give(key, carried, connected)
            elif kind == CREDIT:
                carried.room += int.from_bytes(payload, "big")
            elif kind == SHUT:
                carried.is_shut = True
                self._give(key, carried, connected)
            else:  # it broke, or sends what it may not
                self._drop(key)

    def _open(self, key: Key) -> None:
        if len(self._to_send) > MOST_HELD + MOST_ANSWERS:
            return
        if key in self._carried or len(self._carried) >= MOST_OPEN:
            self._send(RESET, key)
            return
        connected = socket.socket(socket.AF_UNIX)
        try:
            connected.connect(self._target)
        except OSError:
            connected.close()
            self._send(RESET, key)
            return
        self._begin(key, connected)

    def _send(self, kind: bytes, key: Key, payload: bytes = b"") -> None:
        self._to_send += frame(kind, number_of(*key), payload)

    def _flush(self) -> None:
        with suppress(BlockingIOError):
            del self._to_send[: os.write(self._sink, self._to_send)]

    # --- the front-end ----------------------------------------------------------------------------

    def _accept(self, listener: object, other: int) -> None:
        assert isinstance(listener, socket.socket)
        with suppress(OSError):
            connected, _ = listener.accept()
            key = other, next(self._numbers[other])
            self._send(OPEN, key)
            self._begin(key, connected)

    def _begin(self, key: Key, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._carried[key] = Carried(), connected
        self._selector.register(connected, _READ, key)

    def _serve(self, key: Key, events: int) -> None:
        if key not in self._carried:
            return
        carried, connected = self._carried[key]
        if events & _READ and carried.may_read and len(self._to_send) < MOST_HELD:
            try:
                data = connected.recv(carried.may_read)
            except BlockingIOError:
                return
            except OSError:
                self._break(key)
                return
            self._send(DATA if carried.outwards(data) else SHUT, key, data)
        if events & _WRITE:
            self._give(key, carried, connected)
        elif carried.is_over:
            self._drop(key)

    def _give(self, key: Key, carried: Carried, connected: socket.socket) -> None:
        """Let the front-end have what has come for it."""
        try:
            while carried.holds:
                room = carried.taken(connected.send(carried.next_piece()))
                if room:
                    self._send(CREDIT, key, room.to_bytes(4, "big"))
            if carried.is_shut:
                connected.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:
            self._break(key)
            return
        if carried.is_over:
            self._drop(key)

    def _break(self, key: Key) -> None:
        self._send(RESET, key)
        self._drop(key)

    def _drop(self, key: Key) -> None:
        _, connected = self._carried.pop(key)
        with suppress(KeyError):  # it was not watched
            self._selector.unregister(connected)
        connected.close()

    # --- what to wait for -------------------------------------------------------------------------

    def _watch_all(self) -> None:
        self._watch(self._sink, _WRITE if self._to_send else 0, None)
        is_full = len(self._to_send) >= MOST_HELD
        for key, (carried, connected) in self._carried.items():
            events = _READ if carried.may_read and not is_full else 0
            self._watch(connected, events | (_WRITE if carried.holds else 0), key)

    def _watch(self, what: int | socket.socket, events: int, data: object) -> None:
        known = self._selector.get_map().get(what)
        if known is None and events:
            self._selector.register(what, events, data)
        elif known is not None and not events:
            self._selector.unregister(what)
        elif known is not None and known.events != events:
            self._selector.modify(what, events, data)


def listeners(paths: Mapping[int, str]) -> Iterator[tuple[int, socket.socket]]:
    """Yield a listening socket of the user's own for each other end; raises OSError."""
    for other, path in paths.items():
        made = socket.socket(socket.AF_UNIX)
        os.fchmod(made.fileno(), 0o600)
        with suppress(FileNotFoundError):
            os.unlink(path)  # it led to a front-end that another one follows
        made.bind(path)
        made.listen(socket.SOMAXCONN)
        yield other, made


def main() -> None:
    """Be an end: read who that is, listen, say the marker, and serve the hub."""
    settings = TunnelEndSettings.parse(sys.argv[1])
    source, sink = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # a stray print must not look like a frame
    sockets = dict(listeners(settings.sockets))
    os.write(sink, f"\n{''.join(settings.marker)}\n".encode())
    end = TunnelEnd(settings.me, sockets, settings.target, source, sink)
    try:
        end.run()
    finally:
        end.close()


if __name__ == "__main__":
    main()
