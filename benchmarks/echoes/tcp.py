"""Plain TCP in Python: what the sockets of this machine can do, and the floor of all others.

`ssl` is the same through the TLS sockets of the library: the floor of what is encrypted.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.echoes.contract import PATIENCE, Rounds, listening, timed
from benchmarks.echoes.members import context

_HEADER = struct.Struct("!qq")


def _receive(connection: socket.socket, into: memoryview) -> None:
    done = 0
    while done < len(into):
        count = connection.recv_into(into[done:])
        if not count:
            raise EOFError
        done += count


def serve(way: str, host: str, port: int) -> None:
    """Send everything back, of one client, until it hangs up."""
    with socket.create_server((host, port)) as listener:
        listener.settimeout(PATIENCE)
        listening()
        connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if way == "ssl":
        connection = context(serves=True).wrap_socket(connection, server_side=True)
    with connection:
        header = memoryview(bytearray(_HEADER.size))
        while True:
            try:
                _receive(connection, header)
            except EOFError:
                return
            size, times = _HEADER.unpack(header)
            buffer = memoryview(bytearray(size))
            for _ in range(times):
                _receive(connection, buffer)
                connection.sendall(buffer)


@contextmanager
def client(way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    connection = socket.create_connection((host, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if way == "ssl":
        connection = context(serves=False).wrap_socket(connection)
    with connection:

        def rounds(size: int, times: int) -> list[float]:
            there, back = bytes(size), memoryview(bytearray(size))
            connection.sendall(_HEADER.pack(size, times))

            def trip() -> None:
                connection.sendall(there)
                _receive(connection, back)

            return timed(trip, times)

        yield rounds
