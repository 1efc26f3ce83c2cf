"""Components and their interfaces are references: they are not copied, and do not travel."""

from __future__ import annotations

import copy
import pickle
from typing import Annotated, Protocol

import pytest

from gcm import (
    Component,
    ComponentType,
    ContentController,
    active,
    composite,
    new_component,
    primitive,
    provides,
    requires,
)
from gcm.errors import GcmError
from gcm.interfaces.interface import ServerInterface
from gcm.membranes.descriptions import DESCRIPTIONS
from tests.unit.parts import Echo


class Meet(Protocol):
    def meet(self, who: list[Component]) -> list[Component]: ...


class Parents(Protocol):
    def super_components(self) -> tuple[Component, ...]: ...


class Bindings(Protocol):
    def bind(self, client: str, server: ServerInterface) -> None: ...
    def lookup(self, client: str) -> tuple[ServerInterface, ...]: ...


@provides("echo", Echo)
@provides("meet", Meet)
class Speaker:
    next: Annotated[Echo, requires(optional=True)]

    def say(self, text: str) -> str:
        return text

    def meet(self, who: list[Component]) -> list[Component]:
        return who


def test_a_copy_of_a_component_or_an_interface_is_itself() -> None:
    part = primitive(Speaker)
    for one in (part, part.server("echo"), part.client("next"), part.server("component")):
        assert copy.copy(one) is one
        assert copy.deepcopy([one])[0] is one


def test_an_active_object_takes_and_gives_components_and_interfaces_as_they_are() -> None:
    part, other = active(Speaker), primitive(Speaker, "other")
    box = composite("box")
    for one in (part, other):
        box.controller(ContentController).add(one)
    parents: Parents = part.server("super-controller").stub  # type: ignore[assignment]  # a stub has the operations
    bindings: Bindings = part.server("binding-controller").stub  # type: ignore[assignment]
    assert parents.super_components() == (box,)
    bindings.bind("next", other.server("echo"))
    assert bindings.lookup("next") == (other.server("echo"),)
    box.start()
    assert part.stub("meet", Meet).meet([other]) == [other]
    box.stop()
    box.terminate()


def test_a_component_does_not_leave_its_process() -> None:
    with pytest.raises(GcmError, match="a component cannot leave its process") as caught:
        pickle.dumps(primitive(Speaker))
    assert caught.value.component == "/speaker"


@pytest.mark.parametrize("membrane", [*DESCRIPTIONS, "primitiveTemplate", "compositeTemplate"])
def test_every_interface_that_is_listed_can_be_called(membrane: str) -> None:
    is_composite = membrane.startswith("composite")
    part = new_component("part", ComponentType(), membrane, None if is_composite else Speaker)
    for name, one in part.interfaces.items():
        assert set(one.operations) == set(part.server(name).stub._operations)
