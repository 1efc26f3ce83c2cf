"""pyzmq: a pair of sockets, without copying."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.echoes.contract import Rounds, library, listening, timed

zmq = library("zmq")


def serve(_way: str, host: str, port: int) -> None:
    """Send everything back until killed."""
    with zmq.Context() as context, context.socket(zmq.PAIR) as socket:
        socket.bind(f"tcp://{host}:{port}")
        listening()
        while True:
            socket.send(socket.recv(copy=False), copy=False)


@contextmanager
def client(_way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    with zmq.Context() as context, context.socket(zmq.PAIR) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(f"tcp://{host}:{port}")

        def rounds(size: int, times: int) -> list[float]:
            data = bytes(size)

            def trip() -> None:
                socket.send(data, copy=False)
                assert len(socket.recv(copy=False)) == size

            return timed(trip, times)

        yield rounds
