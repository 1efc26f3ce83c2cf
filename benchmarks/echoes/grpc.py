"""grpcio: one unary call of bytes, without limits on their size."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from benchmarks.echoes.contract import Rounds, library, listening, timed

grpc = library("grpc")

SERVICE, METHOD = "benchmarks.Echo", "echo"
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def serve(_way: str, host: str, port: int) -> None:
    """Send everything back until killed."""
    echo = grpc.unary_unary_rpc_method_handler(lambda data, _context: data)
    server = grpc.server(ThreadPoolExecutor(1), options=UNLIMITED)
    handlers = grpc.method_handlers_generic_handler(SERVICE, {METHOD: echo})
    server.add_generic_rpc_handlers((handlers,))
    server.add_insecure_port(f"{host}:{port}")
    server.start()
    listening()
    server.wait_for_termination()


@contextmanager
def client(_way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    with grpc.insecure_channel(f"{host}:{port}", options=UNLIMITED) as channel:
        call = channel.unary_unary(f"/{SERVICE}/{METHOD}")

        def rounds(size: int, times: int) -> list[float]:
            data = bytes(size)

            def trip() -> None:
                assert len(call(data)) == size

            return timed(trip, times)

        yield rounds
