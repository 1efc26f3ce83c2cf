"""The components that are measured: they do as little as possible."""

from __future__ import annotations

from typing import Annotated, Protocol

from gcm import Cardinality, Runnable, provides, requires


class Echo(Protocol):
    def echo(self, value: int) -> int: ...


class Echoes(Protocol):
    def echo(self, value: int) -> list[int]: ...


class Calls(Protocol):
    def call(self, times: int) -> None: ...


@provides("echo", Echo)
class Server:
    def echo(self, value: int) -> int:
        return value


@provides("calls", Calls)
class Client:
    """Calls ten times in each loop, so that the loop itself hardly counts."""

    server: Annotated[Echo, requires()]

    def call(self, times: int) -> None:
        for _ in range(times):
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)
            self.server.echo(1)


@provides("echo", Echo, cardinality=Cardinality.GATHERCAST)
class Gatherer:
    def echo(self, value: list[int]) -> list[int]:
        return value


@provides("calls", Calls)
class Spreader:
    """Calls all its servers at once."""

    servers: Annotated[Echoes, requires(cardinality=Cardinality.MULTICAST)]

    def call(self, times: int) -> None:
        for _ in range(times):
            self.servers.echo(1)


@provides("calls", Calls)
class Walker:
    """Calls its servers one by one."""

    servers: Annotated[dict[str, Echo], requires(cardinality=Cardinality.COLLECTION)]

    def call(self, times: int) -> None:
        servers = list(self.servers.values())
        for _ in range(times):
            results = []
            for server in servers:
                results.append(server.echo(1))


@provides("run", Runnable)
@provides("echo", Echo)
class Link:
    """One of many: it serves and calls the next one."""

    next: Annotated[Echo, requires(optional=True)]

    def echo(self, value: int) -> int:
        return self.next.echo(value)

    def run(self) -> None:
        self.next.echo(1)
