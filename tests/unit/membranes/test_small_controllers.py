"""The controllers `attribute`, `name`, `super`, `component`, `multicast` and `gathercast`."""

from __future__ import annotations

from enum import Enum
from functools import partial
from random import Random
from typing import Annotated, Any, Literal, Protocol

import numpy
import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    InterfaceType,
    attribute,
    composite,
    distribute,
    primitive,
    provides,
    requires,
)
from gcm.components.declarations import declared_type
from gcm.errors import (
    IllegalBindingError,
    IllegalContentError,
    IllegalTypeError,
    NoSuchAttributeError,
    NoSuchControllerError,
    NoSuchInterfaceError,
)
from gcm.interfaces.policies.spreading import random
from gcm.membranes.attribute import AttributeController
from gcm.membranes.collective import GathercastController, MulticastController
from gcm.membranes.content import ContentController
from gcm.membranes.introspection import ComponentController, NameController, SuperController
from tests.unit.parts import Echo, Echoes


@provides("echo", Echo)
class Speaker:
    size: Annotated[int, attribute()] = 5
    colour: Annotated[str, attribute()]
    secret = 1

    def say(self, text: str) -> str:
        return text


def attributes() -> AttributeController:
    return primitive(Speaker).controller(AttributeController)


def test_attributes_are_those_that_the_content_declares() -> None:
    assert attributes().names() == ["size", "colour"]


def test_an_attribute_is_read_from_and_set_in_the_content() -> None:
    controller = attributes()
    assert controller.get("size") == 5
    controller.set("size", 7)
    assert controller.get("size") == controller.component.content.size == 7


def test_an_attribute_without_a_value_says_so() -> None:
    with pytest.raises(NoSuchAttributeError) as caught:
        attributes().get("colour")
    assert str(caught.value) == (
        "attribute 'colour' has no value yet [component /speaker]. "
        "Set it, or give it a default in the content class"
    )


@pytest.mark.parametrize("name", ["siez", "secret"])
def test_what_is_not_declared_is_no_attribute(name: str) -> None:
    with pytest.raises(NoSuchAttributeError, match=f"there is no attribute '{name}'"):
        attributes().get(name)
    with pytest.raises(NoSuchAttributeError, match=f"there is no attribute '{name}'"):
        attributes().set(name, 1)


def test_an_unknown_attribute_is_answered_with_the_nearest_one_or_all() -> None:
    with pytest.raises(NoSuchAttributeError, match="did you mean 'size'"):
        attributes().get("siez")
    with pytest.raises(NoSuchAttributeError, match="There is: size, colour"):
        attributes().get("x")


class Tone(Enum):
    LOUD = "loud"


class Whole(int):
    pass


class Sizes:
    size: Annotated[int, attribute()]
    ratio: Annotated[float, attribute()]
    label: Annotated[str | None, attribute()]
    tone: Annotated[Tone, attribute()]
    mode: Annotated[Literal["fast", 2], attribute()]
    steps: Annotated[list[int], attribute()]
    any: Annotated[Any, attribute()]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", "x"),
        ("size", [1]),
        ("ratio", "0.5"),
        ("ratio", b"0.5"),
        ("label", 5),
        ("label", True),
        ("tone", "loud"),
        ("mode", "slow"),
        ("mode", 3),
        ("steps", (1, 2)),
        ("steps", {}),
    ],
)
def test_a_value_that_contradicts_the_annotation_is_refused(name: str, value: object) -> None:
    controller = primitive(Sizes).controller(AttributeController)
    with pytest.raises(NoSuchAttributeError) as caught:
        controller.set(name, value)
    assert caught.value.what.startswith(f"{value!r} is not a value for attribute '{name}' of the ")
    assert not hasattr(controller.component.content, name)


def test_the_refusal_of_a_value_names_the_type_and_a_cure() -> None:
    with pytest.raises(NoSuchAttributeError) as caught:
        attributes().set("size", "x")
    assert str(caught.value) == (
        "'x' is not a value for attribute 'size' of the type int [component /speaker]. "
        "Pass a value of that type, or change the annotation in the content class"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", True),
        ("size", Whole(5)),
        ("size", numpy.int64(5)),
        ("size", numpy.array(5)),
        ("size", 5.0),
        ("size", None),
        ("ratio", 1),
        ("label", None),
        ("label", "x"),
        ("tone", Tone.LOUD),
        ("mode", "fast"),
        ("mode", 2),
        ("steps", ["a"]),
        ("any", "x"),
        ("any", {}),
    ],
)
def test_a_value_that_may_fit_is_taken(name: str, value: object) -> None:
    controller = primitive(Sizes).controller(AttributeController)
    controller.set(name, value)
    assert controller.get(name) is value


def test_a_name_is_read_and_changed() -> None:
    part = primitive(Speaker)
    names = part.controller(NameController)
    assert names.get() == "speaker"
    names.set("herald")
    assert (names.get(), part.name, part.path) == ("herald", "herald", "/herald")


def test_a_renamed_part_keeps_its_place_in_its_composite() -> None:
    box = composite("box")
    parts = [primitive(Speaker, name) for name in "abc"]
    for part in parts:
        box.controller(ContentController).add(part)
    parts[1].controller(NameController).set("x")
    assert box.controller(ContentController).names() == ["a", "x", "c"]
    assert box.child("x") is parts[1]
    assert box.child("b") is None
    assert parts[1].path == "/box/x"


@pytest.mark.parametrize("name", ["", " ", "a/b", "a.b", "a:b", "this"])
def test_a_bad_name_is_refused(name: str) -> None:
    part = primitive(Speaker)
    with pytest.raises(IllegalContentError) as caught:
        part.controller(NameController).set(name)
    assert str(caught.value).startswith(f"'{name}' ")
    assert "[component /speaker]" in str(caught.value)
    assert part.name == "speaker"


def test_the_name_of_a_sibling_is_refused_in_each_composite() -> None:
    shared = primitive(Speaker, "shared")
    left, right = composite("left"), composite("right")
    for box in (left, right):
        box.controller(ContentController).add(shared)
    right.controller(ContentController).add(primitive(Speaker, "taken"))
    with pytest.raises(IllegalContentError) as caught:
        shared.controller(NameController).set("taken")
    assert caught.value.what == "/right already has a sub-component 'taken'"
    assert left.child("shared") is right.child("shared") is shared
    shared.controller(NameController).set("shared")
    assert shared.name == "shared"


def test_a_component_knows_the_composites_around_it() -> None:
    shared = primitive(Speaker)
    assert shared.controller(SuperController).parents() == []
    for name in ("left", "right"):
        composite(name).controller(ContentController).add(shared)
    assert shared.controller(SuperController).parents() == ["/left", "/right"]


def test_the_component_controller_tells_what_the_component_is_made_of() -> None:
    part = primitive(Speaker)
    looking = part.controller(ComponentController)
    assert looking.path() == "/speaker"
    assert looking.type() is part.type
    assert looking.interfaces()[:2] == ["echo", "lifecycle-controller"]
    assert "component" in looking.interfaces()
    assert looking.controllers() == [
        "lifecycle",
        "binding",
        "monitor",
        "interceptor",
        "component",
        "name",
        "super",
        "multicast",
        "gathercast",
        "membrane",
        "attribute",
        "hooks",
        "migration",
    ]


def test_every_controller_of_the_model_is_reachable_by_name() -> None:
    from gcm.membranes.descriptions import ACTIVE, COMPOSITE, DESCRIPTIONS, PRIMITIVE

    known = {kind.name for described in (ACTIVE, COMPOSITE) for kind in described.controllers}
    assert known == {
        "component",
        "name",
        "super",
        "lifecycle",
        "binding",
        "content",
        "attribute",
        "multicast",
        "gathercast",
        "interceptor",
        "membrane",
        "priority",
        "monitor",
        "migration",
        "request-queue",
        "hooks",
    }
    assert set(DESCRIPTIONS) == {
        "primitive",
        "composite",
        "active",
        "parametric",
        "parametricComposite",
    }
    assert DESCRIPTIONS["parametric"].controllers == PRIMITIVE.controllers


@pytest.mark.parametrize("name", ["lifecycle", "binding", "name", "super", "attribute"])
def test_a_controller_is_an_interface_of_its_component(name: str) -> None:
    part = primitive(Speaker)
    interface = part.interface(f"{name}-controller")
    assert interface.owner is part
    assert interface.name == f"{name}-controller"
    assert interface.type.signature is type(part.membrane[name])
    assert part.interface(f"{name}-controller") is interface


def test_hooks_are_no_operations_of_a_control_interface() -> None:
    part = primitive(Speaker)
    operations = part.interface("lifecycle-controller").operations
    assert list(operations) == ["state", "is_started", "has_ended", "start", "stop", "terminate"]
    assert part.membrane["lifecycle"].operations() == list(operations)


def test_an_unknown_controller_is_answered_with_the_nearest_one_or_all() -> None:
    part = primitive(Speaker)
    with pytest.raises(NoSuchControllerError) as caught:
        part.membrane["bindin"]
    assert str(caught.value) == (
        "the membrane has no controller 'bindin' [component /speaker]. did you mean 'binding'?"
    )
    with pytest.raises(NoSuchControllerError, match="It has: attribute, binding, component, "):
        part.membrane["xyz"]
    with pytest.raises(NoSuchControllerError, match="has no controller 'content'"):
        part.controller(ContentController)
    with pytest.raises(NoSuchInterfaceError):
        part.interface("content-controller")


@distribute(random)
class Lots(Protocol):
    def say(self, text: list[str]) -> list[str]: ...


class Casting:
    all: Annotated[Echoes, requires(cardinality=Cardinality.MULTICAST)]
    some: Annotated[Lots, requires(optional=True, cardinality=Cardinality.MULTICAST)]
    one: Annotated[Echo, requires(optional=True)]


@provides("echo", Echo)
class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def say(self, text: str) -> str:
        return f"{self.name} says {text}"


def casting() -> Component:
    client = primitive(Casting)
    for name in "abc":
        server = primitive(partial(Named, name), name, type=declared_type(Named))
        server.start()
        client.bind("all", server.server("echo"))
        client.bind("some", server.server("echo"))
    return client


def test_the_multicast_controller_lists_interfaces_and_their_servers() -> None:
    controller = casting().controller(MulticastController)
    assert controller.names() == ["all", "some"]
    assert controller.bound("all") == ["/a.echo", "/b.echo", "/c.echo"]
    with pytest.raises(IllegalBindingError) as caught:
        controller.bound("one")
    assert str(caught.value) == (
        "is a singleton interface, not a multicast one [component /casting, interface 'one']. "
        "Multicast are: all, some"
    )
    with pytest.raises(IllegalBindingError, match="Multicast are: none"):
        primitive(Asking).controller(MulticastController).bound("next")


class Asking:
    next: Annotated[Echo, requires(optional=True)]


def test_random_distributions_draw_from_the_dice_they_are_given() -> None:
    client = casting()
    client.start()
    called: list[list[str]] = []
    for _ in range(2):
        client.controller(MulticastController).draw_from("some", Random(7))
        called.append(client.content.some.say(list("abcdefgh")))
    assert len(called[0]) == 8
    assert called[0] == called[1]
    expected = Random(7)
    assert called[0] == [f"{'abc'[expected.randrange(3)]} says {letter}" for letter in "abcdefgh"]


class Sums(Protocol):
    def add(self, value: int) -> int: ...


@provides("sum", Sums, cardinality=Cardinality.GATHERCAST)
@provides("echo", Echo)
class Adding:
    def add(self, value: list[int]) -> list[int]:
        return value

    def say(self, text: str) -> str:
        return text


class Giving:
    sum: Annotated[Sums, requires()]


def test_the_gathercast_controller_lists_interfaces_and_their_clients() -> None:
    server = primitive(Adding)
    controller = server.controller(GathercastController)
    assert controller.names() == ["sum"]
    assert controller.clients("sum") == []
    for name in "ba":
        primitive(Giving, name).bind("sum", server.server("sum"))
    assert controller.clients("sum") == ["/b.sum", "/a.sum"]
    assert controller.waiting("sum") == {}
    with pytest.raises(IllegalBindingError) as caught:
        controller.waiting("echo")
    assert str(caught.value) == (
        "is not a gathercast interface [component /adding, interface 'echo']. Gathercast are: sum"
    )


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_the_timeout_of_a_gathercast_is_above_zero(timeout: float) -> None:
    server = primitive(Adding)
    with pytest.raises(IllegalTypeError) as caught:
        server.controller(GathercastController).configure("sum", timeout=timeout)
    assert str(caught.value) == (
        f"the timeout of a gathercast has to be above 0 seconds, not {timeout} "
        "[component /adding, interface 'sum']"
    )
    assert server.controller(GathercastController).settings("sum").timeout is None


def test_a_wrong_stub_type_is_refused() -> None:
    with pytest.raises(IllegalTypeError) as caught:
        primitive(Adding).stub("echo", Sums)
    assert str(caught.value).startswith(
        "the signature is Echo, not Sums [component /adding, interface 'echo']. "
    )
    assert "Echo" in caught.value.cure


def test_a_stub_may_be_typed_by_a_base_of_the_signature() -> None:
    class More(Echo, Protocol):
        def more(self) -> None: ...

    class Able(Speaker):
        def more(self) -> None: ...

    component = primitive(Able, type=ComponentType((InterfaceType("more", More),)))
    component.start()
    assert component.stub("more", Echo).say("x") == "x"
