"""The comm layer of dask's distributed: bytes as frames of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.echoes.contract import Rounds, library, listening, timed

comms, protocol = library("distributed.comm"), library("distributed.protocol")


def serve(_way: str, host: str, port: int) -> None:
    """Send everything back until killed."""

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
def client(_way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
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
