"""Hello: a client component calls a server component, first in code, then in XML.

    python examples/01_hello/hello.py            the assembly written in Python, below
    gcm run examples/01_hello/hello.fractal      the same assembly written in XML

A component declares what it offers with `@provides` and what it needs with `requires()`. Which
components are connected is decided by the assembly, not by the classes: replace the server there,
and the client need not change.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from gcm import Runnable, attribute, provides, requires, running
from gcm.adl import Assembly


class Greeter(Protocol):
    def greet(self, name: str) -> str: ...


@provides("greeter", Greeter)
class Server:
    greeting: Annotated[str, attribute()] = "Hello"

    def greet(self, name: str) -> str:
        return f"{self.greeting}, {name}!"


@provides("run", Runnable)
class Client:
    greeter: Annotated[Greeter, requires()]

    def run(self) -> None:
        print(self.greeter.greet("world"))


def assembly() -> Assembly:
    hello = Assembly("hello")
    hello.serves("run", Runnable)
    hello.primitive("client", Client)
    hello.primitive("server", Server, greeting="Hello")
    hello.bind("this.run", "client.run")
    hello.bind("client.greeter", "server.greeter")
    return hello


if __name__ == "__main__":
    with running(assembly().assemble()) as app:
        app.stub("run", Runnable).run()
