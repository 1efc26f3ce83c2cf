"""The errors of `gcm`, and a mistake that causes each of them.

    python examples/16_refusals/refusals.py

All errors are subclasses of `GcmError`: they have `what` happened, the `component`, `interface` and
`state`, and the `cure`. The message has all of that on one line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

from gcm import (
    AttributeController,
    Cardinality,
    Component,
    ComponentType,
    ContentController,
    GathercastController,
    GcmError,
    InterfaceType,
    RoundSettings,
    WhenLeft,
    active,
    composite,
    distribute,
    new_component,
    one_to_one,
    primitive,
    provides,
    requires,
    running,
    submit,
)
from gcm.adl import load
from gcm.errors import (
    AdlError,
    CircularCallError,
    CopyError,
    DispatchError,
    GathercastMemberError,
    GathercastTimeoutError,
    IllegalBindingError,
    IllegalContentError,
    IllegalLifeCycleError,
    IllegalTypeError,
    InstantiationError,
    MulticastError,
    NoSuchAttributeError,
    NoSuchComponentError,
    NoSuchControllerError,
    NoSuchInterfaceError,
)


class Say(Protocol):
    def say(self, text: Any) -> Any: ...


class SayAll(Protocol):
    @distribute(one_to_one)
    def say(self, text: list[str]) -> list[str]: ...


@provides("say", Say)
class Speaker:
    def say(self, text: Any) -> Any:
        if not text:
            raise ValueError("there is nothing to say")
        return text


@provides("say", Say)
class Asker:
    """Says what the next one says."""

    next: Annotated[Say, requires()]

    def say(self, text: Any) -> Any:
        return self.next.say(text)


@provides("say", Say, cardinality=Cardinality.GATHERCAST)
class Choir:
    def say(self, text: list[Any]) -> list[Any]:
        return text


class Caller:
    all: Annotated[SayAll, requires(cardinality=Cardinality.MULTICAST)]


def pair(first: Component, *others: Component, client: str = "next") -> Component:
    """Return a composite in which the first component is bound to the others."""
    both = composite("both")
    for part in (first, *others):
        both.controller(ContentController).add(part)
    for other in others:
        first.bind(client, other.server("say"))
    return both


def say_all(texts: list[str]) -> None:
    caller = primitive(Caller)
    with running(pair(caller, primitive(Speaker, "a"), primitive(Speaker, "b"), client="all")):
        multicast: Any = caller.client("all").reference
        multicast.say(texts)


def circle() -> None:
    one, two = active(Asker, "one"), active(Asker, "two")
    both = pair(one, two)
    two.bind("next", one.server("say"))
    with running(both):
        one.stub("say", Say).say("you first")


def bound_twice() -> None:
    first = primitive(Asker)
    pair(first, primitive(Speaker))
    first.bind("next", primitive(Speaker, "third").server("say"))


def added_twice() -> None:
    part = primitive(Speaker)
    pair(part).controller(ContentController).add(part)


def silent_singer() -> None:
    choir, one, two = primitive(Choir), primitive(Asker, "one"), primitive(Asker, "two")
    room = pair(one, choir)
    room.controller(ContentController).add(two)
    two.bind("next", choir.server("say"))
    choir.controller(GathercastController).configure("say", timeout=0.1)
    with running(room):
        one.stub("say", Say).say("la")


def leaving_singer() -> None:
    choir, one, two = primitive(Choir), primitive(Asker, "one"), primitive(Asker, "two")
    for singer in (one, two):
        singer.bind("next", choir.server("say"))
    rounds = choir.controller(GathercastController)
    rounds.configure("say", when_left=WhenLeft.REFUSE)
    assert rounds.settings("say") == RoundSettings(when_left=WhenLeft.REFUSE)
    with running(choir):
        waiting = submit(one.content.next.say, "la")
        two.unbind("next")
        waiting.result()


def lock_as_argument() -> None:
    with running(active(Speaker)) as speaker:
        speaker.stub("say", Say).say(threading.Lock())


TWICE = (InterfaceType("say", Say), InterfaceType("say", Say))
MISTAKES: dict[type[GcmError], Callable[[], object]] = {
    IllegalTypeError: lambda: ComponentType(TWICE),
    InstantiationError: lambda: new_component("a", ComponentType(()), "primitiv", Speaker),
    NoSuchInterfaceError: lambda: primitive(Speaker).server("sing"),
    NoSuchControllerError: lambda: primitive(Speaker).controller(ContentController),
    NoSuchComponentError: lambda: composite("box").find("speaker"),
    NoSuchAttributeError: lambda: primitive(Speaker).controller(AttributeController).get("size"),
    IllegalBindingError: bound_twice,
    IllegalContentError: added_twice,
    IllegalLifeCycleError: lambda: primitive(Asker).start(),
    CopyError: lock_as_argument,
    DispatchError: lambda: say_all(["only one text for two"]),
    MulticastError: lambda: say_all(["one", ""]),
    CircularCallError: circle,
    GathercastTimeoutError: silent_singer,
    GathercastMemberError: leaving_singer,
    AdlError: lambda: load("nowhere.fractal"),
}


def main() -> None:
    for expected, mistake in MISTAKES.items():
        try:
            mistake()
        except expected as error:
            print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
