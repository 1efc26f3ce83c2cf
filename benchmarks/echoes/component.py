"""A call between components of two processes: bytes as argument and as result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, Protocol, cast

from benchmarks.echoes.contract import Rounds, listening, timed
from benchmarks.echoes.members import member
from gcm import primitive, provides
from runtime.hosting.host import Host
from runtime.transport.brief_waits import BriefWaits
from runtime.transport.reactor import Reactor

PATH, CLIENT = "/echo", "/client"


class Echoing(Protocol):
    """Gives back what it is given."""

    def echo(self, data: Any) -> Any:
        """Return the same."""
        ...


@provides("echo", Echoing)
class Echo:
    """The content of the component that answers."""

    def echo(self, data: Any) -> Any:
        """Return the same."""
        return data


def serve(_way: str, host: str, port: int) -> None:
    """Send everything back until killed."""
    with Reactor(brief_waits=BriefWaits()) as reactor:
        here = Host(PATH, reactor)
        component = primitive(Echo)
        component.start()
        here.publish(PATH, component)
        here.listen(f"{host}:{port}", member(PATH, encrypts=False))
        listening()
        Event().wait()


@contextmanager
def client(_way: str, host: str, port: int) -> Iterator[Rounds]:
    """Connect."""
    with Reactor(brief_waits=BriefWaits()) as reactor:
        here = Host(CLIENT, reactor)
        here.dial(f"{host}:{port}", member(CLIENT, encrypts=False))
        found: Any = here.find(PATH, "echo")
        stub = cast("Echoing", found.stub)

        def rounds(size: int, times: int) -> list[float]:
            import numpy as np

            data: Any = np.zeros(size, np.uint8) if size >= 1 << 14 else bytes(size)
            return timed(lambda: stub.echo(data), times)

        yield rounds
        here.close()
