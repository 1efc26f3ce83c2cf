"""The name controller, and section 4.2: the attribute controller."""

from __future__ import annotations

from typing import Protocol

import pytest

from gcm import AttributeController, Component, NameController, new_component
from gcm.errors import IllegalContentError, NoSuchAttributeError
from tests.fractal.clause import Topic
from tests.fractal.parts import SERVER, Speaker, composite, primitive

NAMES = Topic("Name controller")
ATTRIBUTES = Topic("Attribute controller")


@NAMES.rule("4", "the name of a component can be read and changed")
def reading_and_renaming() -> None:
    part = primitive("e")
    box = composite("c", parts=[part])
    name = part.controller(NameController)
    assert name.get() == "e"
    name.set("f")
    assert (name.get(), part.path, box.find("f")) == ("f", "/c/f", part)


@NAMES.rule(
    "4",
    "a name is any text",
    instead="it is not empty, has no `.`, `/` or `:`, is not `this` and is no sibling's, so that "
    "paths and bindings can say it",
)
def names_that_can_be_said() -> None:
    part = primitive("e")
    composite("c", parts=[part, primitive("f")])
    for name in ("", "a.b", "a/b", "this", "f"):
        with pytest.raises(IllegalContentError):
            part.controller(NameController).set(name)
    assert part.name == "e"


class Settings(Protocol):
    size: int

    @property
    def label(self) -> str: ...


class Wrong(Protocol):
    size: str
    colour: str


def _parametric() -> list[Component]:
    return [
        new_component("p", SERVER, "parametricPrimitive", Speaker),
        new_component("c", SERVER, "parametricComposite", Speaker),
    ]


@ATTRIBUTES.rule("4.2", "attributes are listed, read and set, of primitives and of composites")
def reading_and_setting() -> None:
    for part in _parametric():
        attributes = part.controller(AttributeController)
        assert attributes.names() == ["size", "label"]
        assert attributes.get("size") == 1
        attributes.set("size", 2)
        assert attributes.get("size") == 2


@ATTRIBUTES.rule("4.2", "a component has an attribute interface of its own, with typed attributes")
def a_typed_interface() -> None:
    for part in _parametric():
        settings = part.controller(AttributeController).typed(Settings)
        settings.size = 3
        assert (settings.size, part.controller(AttributeController).get("size")) == (3, 3)
        part.controller(AttributeController).set("label", "x")
        assert settings.label == "x"
        with pytest.raises(NoSuchAttributeError, match="'four'"):
            settings.size = "four"  # type: ignore[assignment]  # the point of the check


@ATTRIBUTES.rule("4.2", "what is no attribute is refused")
def no_such_attribute() -> None:
    for part in _parametric():
        attributes = part.controller(AttributeController)
        with pytest.raises(NoSuchAttributeError, match="did you mean 'size'"):
            attributes.set("sise", 1)
        with pytest.raises(NoSuchAttributeError) as caught:
            attributes.typed(Wrong)
        assert all(name in caught.value.what for name in ("Wrong", "'size'", "'colour'"))


@ATTRIBUTES.rule(
    "4.2",
    "attributes are those of an interface that the component type names",
    instead="the content class declares them with `attribute()`, so that they are plain attributes "
    "in Python; documents may name a class that types them",
)
def declared_by_the_content() -> None:
    plain = new_component("p", SERVER, "primitive", Speaker)
    assert plain.controller(AttributeController).names() == ["size", "label"]
