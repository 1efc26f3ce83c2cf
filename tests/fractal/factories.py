"""Sections 5.1 and 5.3: the generic factory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pytest

import gcm
from gcm import PRIMITIVE, ComponentType, new_component
from gcm.errors import InstantiationError
from tests.fractal.clause import Topic
from tests.fractal.parts import FULL, SERVER, WITH_CLIENT, Caller, Echo, Speaker, interface_names

TOPIC = Topic("Generic factory")

EVERY = {
    "component",
    "binding-controller",
    "lifecycle-controller",
    "name-controller",
    "super-controller",
}


def _controls(descriptor: str, content: Any) -> set[str]:
    made = new_component("made", WITH_CLIENT, descriptor, content)
    assert {"server", "client"} <= interface_names(made)
    return interface_names(made)


@TOPIC.rule("5.1", "a type, a descriptor of the membrane and one of the content make a component")
def a_primitive() -> None:
    for descriptor in ("primitive", "flatPrimitive", "active"):
        assert _controls(descriptor, Caller) >= EVERY
    assert "content-controller" not in _controls("primitive", Caller)


@TOPIC.rule("5.1", "a parametric primitive has an attribute controller")
def a_parametric_primitive() -> None:
    for descriptor in ("parametric", "parametricPrimitive", "flatParametricPrimitive"):
        assert _controls(descriptor, Caller) >= EVERY | {"attribute-controller"}


@TOPIC.rule("5.1", "a composite has a content controller")
def a_composite() -> None:
    made = _controls("composite", None)
    assert made >= EVERY | {"content-controller"}
    assert "attribute-controller" not in made


@TOPIC.rule("5.1", "a parametric composite has a content and an attribute controller")
def a_parametric_composite() -> None:
    made = _controls("parametricComposite", Speaker)
    assert made >= EVERY | {"content-controller", "attribute-controller"}


@TOPIC.rule("5.1", "an unknown descriptor is refused")
def an_unknown_descriptor() -> None:
    with pytest.raises(InstantiationError) as caught:
        new_component("a", SERVER, "primitiv", Speaker)
    assert str(caught.value) == (
        "there is no membrane 'primitiv' [component a]. did you mean 'primitive'?"
    )
    nothing: Any = None
    with pytest.raises(InstantiationError, match="^None "):
        new_component("a", SERVER, nothing, Speaker)


@TOPIC.rule("5.1", "a descriptor that does not fit the content is refused")
def content_that_does_not_fit() -> None:
    for descriptor, content in (("composite", Speaker), ("primitive", None)):
        with pytest.raises(InstantiationError, match="do not fit"):
            new_component("a", SERVER, descriptor, content)


@TOPIC.rule("5.1", "a content class that is not found is refused")
def a_content_that_is_none() -> None:
    content: Any = "no.such.Class"
    with pytest.raises(InstantiationError, match="could not be made"):
        new_component("a", SERVER, "primitive", content)


@TOPIC.rule("5.1", "an abstract content class is refused")
def an_abstract_content() -> None:
    class Abstract(ABC):
        @abstractmethod
        def say(self, text: str) -> str: ...

    with pytest.raises(InstantiationError, match="could not be made"):
        new_component("a", SERVER, "primitive", Abstract)


@TOPIC.rule("5.1", "a content class whose instances need arguments is refused")
def a_content_with_arguments() -> None:
    class Needy(Speaker):
        def __init__(self, size: int) -> None:
            self.size = size

    content: Any = Needy
    with pytest.raises(InstantiationError, match="without arguments"):
        new_component("a", SERVER, "primitive", content)


@TOPIC.rule("5.1", "a content class that lacks a server interface is refused")
def a_content_without_its_interface() -> None:
    class Mute:
        pass

    with pytest.raises(InstantiationError, match="interface 'server': Mute has no operation 'say'"):
        new_component("a", SERVER, "primitive", Mute)


@TOPIC.rule(
    "5.1",
    "a content class with client interfaces implements the binding controller",
    instead="the stub of what is bound is put into an attribute of the content, so that content "
    "is plain Python",
)
def a_content_without_binding_controller() -> None:
    part = new_component("a", FULL, "primitive", Caller)
    other = new_component("b", SERVER, "primitive", Speaker)
    part.bind("client", other.server("server"))
    other.start()
    part.start()
    assert part.stub("server", Echo).say("x") == "x"


@TOPIC.rule(
    "5.3",
    "a bootstrap component offers the type factory and the generic factory",
    instead="the module `gcm` does, as modules do in Python: InterfaceType, ComponentType, "
    "new_component, new_template",
)
def the_bootstrap() -> None:
    made = gcm.new_component("a", ComponentType(), PRIMITIVE, Speaker)
    assert made.controller(gcm.ComponentController).path() == "/a"
