"""Ping-pong over plain TCP in Python: what the sockets of this machine can do.

Needs nothing but the standard library, so that any Python can run it:

    python wire_raw.py serve HOST PORT
    python wire_raw.py measure HOST PORT SIZE,SIZE,... SECONDS
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from collections.abc import Sequence

HEADER = struct.Struct("!qq")
PATIENCE = 120.0
FEWEST, MOST = 5, 5000


def receive(connection: socket.socket, into: memoryview) -> None:
    """Fill the buffer; raises `EOFError` when the other end has gone."""
    done = 0
    while done < len(into):
        count = connection.recv_into(into[done:])
        if not count:
            raise EOFError
        done += count


def serve(host: str, port: int) -> None:
    """Send everything back, of one client, until it hangs up."""
    with socket.create_server((host, port)) as listener:
        listener.settimeout(PATIENCE)
        print("listening", flush=True)
        connection, _ = listener.accept()
    with connection:
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        header = memoryview(bytearray(HEADER.size))
        while True:
            try:
                receive(connection, header)
            except EOFError:
                return
            size, times = HEADER.unpack(header)
            buffer = memoryview(bytearray(size))
            for _ in range(times):
                receive(connection, buffer)
                connection.sendall(buffer)


def measure(host: str, port: int, sizes: Sequence[int], seconds: float) -> None:
    """Print, for each size, the seconds that each way took, one object per line."""
    with socket.create_connection((host, port), timeout=PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size in sizes:
            least = min(_round_trips(connection, size, 3))
            times = max(FEWEST, min(MOST, int(seconds / least)))
            ways = [trip / 2 for trip in _round_trips(connection, size, times)]
            print(json.dumps({"what": "tcp", "size": size, "seconds": ways}), flush=True)


def _round_trips(connection: socket.socket, size: int, times: int) -> list[float]:
    there, back = bytes(size), memoryview(bytearray(size))
    connection.sendall(HEADER.pack(size, times))
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        connection.sendall(there)
        receive(connection, back)
        taken.append(time.perf_counter() - begun)
    return taken


def main() -> None:
    """Serve or measure, as the command line says."""
    what, host, port, *more = sys.argv[1:]
    if what == "serve":
        serve(host, int(port))
    else:
        measure(host, int(port), [int(size) for size in more[0].split(",")], float(more[1]))


if __name__ == "__main__":
    main()
