"""Interfaces, content classes and components that the checks use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Protocol

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    ContentController,
    Contingency,
    InterfaceType,
    Role,
    attribute,
    new_component,
)

MANDATORY, OPTIONAL = Contingency.MANDATORY, Contingency.OPTIONAL
SINGLETON, COLLECTION = Cardinality.SINGLETON, Cardinality.COLLECTION


class Echo(Protocol):
    def say(self, text: str) -> str: ...


class Loud(Echo, Protocol):
    def shout(self, text: str) -> str: ...


class Clock(Protocol):
    def now(self) -> float: ...


class Speaker:
    """Serves `Echo` and `Clock`, and has attributes."""

    size: Annotated[int, attribute()] = 1
    label: Annotated[str, attribute()]

    def say(self, text: str) -> str:
        return text * self.size

    def now(self) -> float:
        return 0.5


class Caller:
    """Passes on what it is told: to the client `client`, or to `one` member of `clients`."""

    client: Any
    clients: dict[str, Any]

    def say(self, text: str) -> str:
        if self.client is not None:
            return str(self.client.say(text))
        return str(self.clients["0"].say(text))


def server(name: str = "server", contingency: Contingency = MANDATORY) -> InterfaceType:
    return InterfaceType(name, Echo, Role.SERVER, contingency)


def client(name: str = "client", contingency: Contingency = MANDATORY) -> InterfaceType:
    return InterfaceType(name, Echo, Role.CLIENT, contingency)


def collection(name: str, role: Role, contingency: Contingency = OPTIONAL) -> InterfaceType:
    return InterfaceType(name, Echo, role, contingency, COLLECTION)


FULL = ComponentType(
    (
        server(),
        collection("servers", Role.SERVER),
        client(),
        collection("clients", Role.CLIENT),
    )
)
"""What the components of most checks offer and need."""

SERVER = ComponentType((server(),))
WITH_CLIENT = ComponentType((server(), client()))
OTHERS = ComponentType((server("shy", OPTIONAL), InterfaceType("clock", Clock)))
"""Servers to which a mandatory client of `Echo` cannot be bound."""


def primitive(name: str, type: ComponentType = FULL, content: type[Any] = Caller) -> Component:
    return new_component(name, type, "primitive", content)


def composite(name: str, type: ComponentType = FULL, parts: Iterable[Component] = ()) -> Composite:
    made = new_component(name, type, "composite")
    assert isinstance(made, Composite)
    for part in parts:
        content_of(made).add(part)
    return made


def content_of(component: Component) -> ContentController:
    return component.controller(ContentController)


def bound(component: Component, name: str) -> list[object]:
    """Return what an interface is bound to."""
    from gcm import BindingController

    return list(component.controller(BindingController).lookup(name))


def interface_names(component: Component) -> set[str]:
    return set(component.interfaces)
