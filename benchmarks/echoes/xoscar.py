"""xoscar: a call of an actor in another process, with bytes out of band."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.echoes.contract import Rounds, library, listening, timed

xoscar = library("xoscar")

UID = b"echo"


class Echo(xoscar.Actor):  # type: ignore[misc, name-defined]  # known only where installed
    """Gives back what it is given."""

    async def echo(self, data: Any) -> Any:
        """Return it."""
        return data


def serve(_way: str, host: str, port: int) -> None:
    """Send everything back until killed."""

    async def main() -> None:
        address = f"{host}:{port}"
        pool = await xoscar.create_actor_pool(address, n_process=0)
        await xoscar.create_actor(Echo, uid=UID, address=address)
        listening()
        await pool.join()

    asyncio.run(main())


@contextmanager
def client(_way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    import numpy as np

    loop = asyncio.new_event_loop()
    actor = loop.run_until_complete(xoscar.actor_ref(uid=UID, address=f"{host}:{port}"))

    def rounds(size: int, times: int) -> list[float]:
        data = np.zeros(size, np.uint8)

        async def trip() -> None:
            assert len(await actor.echo(data)) == size

        return timed(lambda: loop.run_until_complete(trip()), times)

    yield rounds
    loop.close()
