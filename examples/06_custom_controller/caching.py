"""A custom controller: remember the results of a component, without touching its class.

    gcm run examples/06_custom_controller/caching.fractal

`Cache` is a controller: one concern of a component, in a few lines. Its `wrap` adds code around
each call; its other public methods can be called through its control interface, to which the client
here is bound as `oracle.cache-controller`. `CACHED` is the usual membrane plus this controller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Protocol

from gcm import PRIMITIVE, Component, Controller, Runnable, provides, requires


class Cache(Controller):
    name = "cache"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._known: dict[Any, Any] = {}

    def wrap(self, interface: Any, operation: str, proceed: Callable[..., Any]) -> Any:
        def remembered(*args: Any, **kwargs: Any) -> Any:
            question = operation, args, tuple(kwargs.items())
            if question not in self._known:
                self._known[question] = proceed(*args, **kwargs)
            return self._known[question]

        return remembered

    def clear(self) -> None:
        self._known.clear()


CACHED = PRIMITIVE.including(Cache, name="cached")


class Oracle(Protocol):
    def ask(self, question: str) -> int: ...


@provides("oracle", Oracle)
class Thinker:
    def ask(self, question: str) -> int:
        print(f"  (thinking about {question})")
        return 42


@provides("run", Runnable)
class Client:
    oracle: Annotated[Oracle, requires()]
    cache: Annotated[Cache, requires()]

    def run(self) -> None:
        print("first:", self.oracle.ask("everything"))
        print("again:", self.oracle.ask("everything"))
        self.cache.clear()
        print("cleared:", self.oracle.ask("everything"))
