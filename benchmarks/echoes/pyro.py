"""Stock Pyro5: bytes as arguments with two serializers, and in annotations beside a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import Pyro5.api
import serpent

from benchmarks.echoes.contract import Rounds, listening, timed

MARK = "BULK"
NAME = "echo"


class Echo:
    """Gives back what it is given."""

    @Pyro5.api.expose  # type: ignore[untyped-decorator]  # the library has no types
    def serpent(self, data: object) -> bytes:
        """Return bytes that serpent wrote as text."""
        return bytes(serpent.tobytes(data))

    @Pyro5.api.expose  # type: ignore[untyped-decorator]  # the library has no types
    def msgpack(self, data: bytes) -> bytes:
        """Return bytes."""
        return data

    @Pyro5.api.expose  # type: ignore[untyped-decorator]  # the library has no types
    def annotations(self) -> None:
        """Return what came beside the call beside the answer."""
        context = Pyro5.api.current_context
        context.response_annotations = {MARK: bytes(context.annotations[MARK])}


def serve(_way: str, host: str, port: int) -> None:
    """Send everything back until killed."""
    Pyro5.api.config.MAX_RETRIES = 0
    with Pyro5.api.Daemon(host=host, port=port) as daemon:
        daemon.register(Echo(), NAME)
        listening()
        daemon.requestLoop()


@contextmanager
def client(way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
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
