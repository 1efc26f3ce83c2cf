"""Components of many unit tests: one that answers, one that passes calls on, and boxes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    ContentController,
    InterfaceType,
    composite,
    provides,
    requires,
)

WAIT = 10
"""How many seconds a test waits for what has to happen at once."""

Ended = Callable[[Any], Any]
"""The fixture `ended`."""
InThread = Callable[..., threading.Thread]
"""The fixture `in_thread`."""
Make = Callable[..., Component]
"""`primitive` or `active`."""


class Echo(Protocol):
    def say(self, text: str) -> str: ...


class Echoes(Protocol):
    """What a client of several servers of `Echo` has."""

    def say(self, text: str) -> list[str]: ...


class Louder(Echo, Protocol):
    def shout(self, text: str) -> str: ...


ECHO = ComponentType((InterfaceType("echo", Echo),))


@provides("echo", Echo)
class Speaker:
    def say(self, text: str) -> str:
        return text


@provides("louder", Louder)
class Shouter(Speaker):
    def shout(self, text: str) -> str:
        return text.upper()


@provides("echo", Echo)
class Relay:
    next: Annotated[Echo, requires()]

    def say(self, text: str) -> str:
        return self.next.say(text)


class Asking:
    next: Annotated[Echo, requires()]


class Casting:
    all: Annotated[Echoes, requires(cardinality=Cardinality.MULTICAST)]


def within(name: str, *parts: Component, type: ComponentType | None = None) -> Composite:
    """Return a composite that holds these."""
    box = composite(name, type)
    for part in parts:
        box.controller(ContentController).add(part)
    return box
