"""One end of a stream that is sent one way for some time, by plain TCP or by ours.

python -m benchmarks.stream_ends receive tcp HOST PORT
python -m benchmarks.stream_ends send ours HOST PORT SECONDS

Who receives prints, as JSON, when how much had come; who sends prints with how many
connections at most.
"""

from __future__ import annotations

import json
import math
import socket
import sys
import time
from collections import deque

from benchmarks.echoes.contract import listening
from benchmarks.echoes.members import ENDS, member
from runtime.wire import Incoming, Outgoing
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.peer_connections import PeerConnections

SENDER, RECEIVER = 0, 1
MIB = 1 << 20
MESSAGE = 8 * MIB
AT_ONCE = 4
EVERY = 0.1


class Log:
    """Notes when how much has come."""

    def __init__(self) -> None:
        self._notes: list[tuple[float, int]] = []
        self._bytes = 0

    def came(self, size: int) -> None:
        """Know that more has come."""
        self._bytes += size
        now = time.monotonic()
        if not self._notes or now - self._notes[-1][0] >= EVERY:
            self._notes.append((now, self._bytes))

    def tell(self) -> None:
        """Print all."""
        print(json.dumps(self._notes), flush=True)


class Ear:
    """Gives all messages the same buffer: nobody looks at what comes."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._buffer = memoryview(bytearray(MESSAGE))
        self.is_over = False

    def arrived(self, incoming: Incoming) -> None:
        """Match it at once."""
        incoming.give(self._buffer[: incoming.size])
        if incoming.done:
            self.completed(incoming)

    def completed(self, incoming: Incoming) -> None:
        """Note it."""
        self._log.came(incoming.size)

    def lost(self, _peer: int, _why: Exception) -> None:
        """Know that the other end has gone."""
        self.is_over = True


def open_connections(me: int, host: str, port: int, ear: Ear, *, way: str) -> PeerConnections:
    """Return one end of ours; only the receiver can be dialled."""
    parties = (
        Party(ENDS[SENDER], "sender", "here"),
        Party(ENDS[RECEIVER], "receiver", "there", (f"{host}:{port}",)),
    )
    directory = RankDirectory(parties)
    credentials = member(ENDS[me], encrypts=way == "tls")
    listeners = [socket.create_server((host, port))] if me == RECEIVER else []
    connector = DirectConnector(me, directory, credentials)
    return PeerConnections(
        me, directory, ear, connector, listeners=listeners, credentials=credentials
    )


def receive(way: str, host: str, port: int) -> None:
    """Receive until the sender has gone."""
    log = Log()
    if way == "tcp":
        with socket.create_server((host, port)) as listener:
            listening()
            connection, _ = listener.accept()
        buffer = bytearray(MIB)
        with connection:
            while count := connection.recv_into(buffer):
                log.came(count)
    else:
        ear = Ear(log)
        made = open_connections(RECEIVER, host, port, ear, way=way)
        listening()
        while not ear.is_over:
            made.ready(None)
            made.progress()
        made.close()
    log.tell()


def send(way: str, host: str, port: int, seconds: float) -> None:
    """Send as fast as it is taken, for so long after the first message has come."""
    data = memoryview(bytes(MESSAGE))
    connections = 1
    if way == "tcp":
        with socket.create_connection((host, port)) as connection:
            connection.sendall(data)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                connection.send(data[:MIB])
    else:
        made = open_connections(SENDER, host, port, Ear(Log()), way=way)
        sent: deque[Outgoing] = deque()
        until = math.inf
        while time.monotonic() < until:
            while len(sent) < AT_ONCE:
                sent.append(made.send(RECEIVER, b"", [data]))
            made.ready(1.0)
            made.progress()
            while sent and sent[0].done:
                sent.popleft()
                until = min(until, time.monotonic() + seconds)
        connections += made.traffic()[RECEIVER].lanes
        made.close()
    print(json.dumps(connections), flush=True)


def main() -> None:
    """Do what the command line says."""
    what, way, host, port, *more = sys.argv[1:]
    if what == "receive":
        receive(way, host, int(port))
    else:
        send(way, host, int(port), float(more[0]))


if __name__ == "__main__":
    main()
