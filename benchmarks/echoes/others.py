"""Other libraries, each of which is imported where it is measured: it may not be installed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from benchmarks.echoes.contract import Rounds, library, listening, timed

# --- pyzmq: a pair of sockets, without copying -------------------------------------------------


def _serve_zmq(_way: str, host: str, port: int) -> None:
    zmq = library("zmq")
    with zmq.Context() as context, context.socket(zmq.PAIR) as socket:
        socket.bind(f"tcp://{host}:{port}")
        listening()
        while True:
            socket.send(socket.recv(copy=False), copy=False)


@contextmanager
def _zmq(_way: str, host: str, port: int) -> Iterator[Rounds]:
    zmq = library("zmq")
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


# --- grpcio: one unary call of bytes, without limits on their size -----------------------------

SERVICE, METHOD = "benchmarks.Echo", "echo"
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def _serve_grpc(_way: str, host: str, port: int) -> None:
    grpc = library("grpc")
    echo = grpc.unary_unary_rpc_method_handler(lambda data, _context: data)
    server = grpc.server(ThreadPoolExecutor(1), options=UNLIMITED)
    handlers = grpc.method_handlers_generic_handler(SERVICE, {METHOD: echo})
    server.add_generic_rpc_handlers((handlers,))
    server.add_insecure_port(f"{host}:{port}")
    server.start()
    listening()
    server.wait_for_termination()


@contextmanager
def _grpc(_way: str, host: str, port: int) -> Iterator[Rounds]:
    grpc = library("grpc")
    with grpc.insecure_channel(f"{host}:{port}", options=UNLIMITED) as channel:
        call = channel.unary_unary(f"/{SERVICE}/{METHOD}")

        def rounds(size: int, times: int) -> list[float]:
            data = bytes(size)

            def trip() -> None:
                assert len(call(data)) == size

            return timed(trip, times)

        yield rounds


# --- dask: the comm layer of distributed, with bytes as frames of their own --------------------


def _serve_dask(_way: str, host: str, port: int) -> None:
    comms = library("distributed.comm")

    async def echo(comm: Any) -> None:
        try:
            while True:
                message = await comm.read()
                await comm.write({"data": message["data"]})
        except comms.CommClosedError:
            """The client has gone."""

    async def main() -> None:
        listener = comms.listen(f"tcp://{host}:{port}", echo, deserialize=False)
        await listener.start()
        listening()
        await asyncio.Event().wait()

    asyncio.run(main())


@contextmanager
def _dask(_way: str, host: str, port: int) -> Iterator[Rounds]:
    comms, protocol = library("distributed.comm"), library("distributed.protocol")
    loop = asyncio.new_event_loop()
    comm = loop.run_until_complete(comms.connect(f"tcp://{host}:{port}", deserialize=False))

    def rounds(size: int, times: int) -> list[float]:
        data = bytes(size)

        async def trip() -> None:
            await comm.write({"data": protocol.to_serialize(data)})
            answer = (await comm.read())["data"]
            assert isinstance(answer, protocol.Serialized) or len(answer) == size

        return timed(lambda: loop.run_until_complete(trip()), times)

    try:
        yield rounds
    finally:
        comm.abort()
        loop.close()


# --- xoscar: a call of an actor in another process, with bytes out of band ---------------------

UID = b"echo"


def _serve_xoscar(_way: str, host: str, port: int) -> None:
    xoscar = library("xoscar")

    class Echo(xoscar.Actor):  # type: ignore[misc, name-defined]  # known only where installed
        async def echo(self, data: Any) -> Any:
            return data

    async def main() -> None:
        address = f"{host}:{port}"
        pool = await xoscar.create_actor_pool(address, n_process=0)
        await xoscar.create_actor(Echo, uid=UID, address=address)
        listening()
        await pool.join()

    asyncio.run(main())


@contextmanager
def _xoscar(_way: str, host: str, port: int) -> Iterator[Rounds]:
    import numpy as np

    xoscar = library("xoscar")
    loop = asyncio.new_event_loop()
    actor = loop.run_until_complete(xoscar.actor_ref(uid=UID, address=f"{host}:{port}"))

    def rounds(size: int, times: int) -> list[float]:
        data = np.zeros(size, np.uint8)

        async def trip() -> None:
            assert len(await actor.echo(data)) == size

        return timed(lambda: loop.run_until_complete(trip()), times)

    yield rounds
    loop.close()


# --- Pyro5: bytes as arguments with two serializers, and in annotations beside a call ----------

MARK = "BULK"
NAME = "echo"


def _serve_pyro(_way: str, host: str, port: int) -> None:
    import Pyro5.api
    import serpent

    class Echo:
        @Pyro5.api.expose  # type: ignore[untyped-decorator]  # the library has no types
        def serpent(self, data: object) -> bytes:
            return bytes(serpent.tobytes(data))

        @Pyro5.api.expose  # type: ignore[untyped-decorator]  # the library has no types
        def msgpack(self, data: bytes) -> bytes:
            return data

        @Pyro5.api.expose  # type: ignore[untyped-decorator]  # the library has no types
        def annotations(self) -> None:
            context = Pyro5.api.current_context
            context.response_annotations = {MARK: bytes(context.annotations[MARK])}

    Pyro5.api.config.MAX_RETRIES = 0
    with Pyro5.api.Daemon(host=host, port=port) as daemon:
        daemon.register(Echo(), NAME)
        listening()
        daemon.requestLoop()


@contextmanager
def _pyro(way: str, host: str, port: int) -> Iterator[Rounds]:
    import Pyro5.api
    import serpent

    Pyro5.api.config.SERIALIZER = "msgpack" if way == "annotations" else way
    with Pyro5.api.Proxy(f"PYRO:{NAME}@{host}:{port}") as proxy:

        def rounds(size: int, times: int) -> list[float]:
            data = bytes(size)

            def beside() -> None:
                Pyro5.api.current_context.annotations = {MARK: data}
                proxy.annotations()
                assert len(Pyro5.api.current_context.response_annotations[MARK]) == size

            def as_text() -> None:
                assert len(serpent.tobytes(proxy.serpent(data))) == size

            def as_argument() -> None:
                assert len(proxy.msgpack(data)) == size

            trips = {"annotations": beside, "serpent": as_text, "msgpack": as_argument}
            return timed(trips[way], times)

        yield rounds


_WAYS = {
    "zmq": (_serve_zmq, _zmq),
    "grpc": (_serve_grpc, _grpc),
    "dask": (_serve_dask, _dask),
    "xoscar": (_serve_xoscar, _xoscar),
    **dict.fromkeys(("serpent", "msgpack", "annotations"), (_serve_pyro, _pyro)),
}


def serve(way: str, host: str, port: int) -> None:
    """Send everything back until killed."""
    _WAYS[way][0](way, host, port)


def client(way: str, host: str, port: int) -> AbstractContextManager[Rounds]:
    """Connect."""
    return _WAYS[way][1](way, host, port)
