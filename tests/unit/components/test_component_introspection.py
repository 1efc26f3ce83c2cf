"""What a component tells about itself, and how its parts are found."""

from __future__ import annotations

from typing import Annotated

import pytest

from gcm import (
    Cardinality,
    ComponentType,
    Contingency,
    InterfaceType,
    Role,
    primitive,
    requires,
)
from gcm.errors import NoSuchComponentError, NoSuchInterfaceError
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.membranes.content import ContentController
from tests.unit.parts import Echo, within
from tests.unit.parts import Speaker as PlainSpeaker


class Speaker(PlainSpeaker):
    next: Annotated[Echo, requires(optional=True)]


def test_an_interface_knows_its_owner_name_type_and_face() -> None:
    component = primitive(Speaker)
    interface = component.interface("echo")
    assert (interface.owner, interface.name, interface.internal) == (component, "echo", False)
    assert interface.type == InterfaceType("echo", Echo)
    assert interface.path == str(interface) == "/speaker.echo"
    assert repr(interface) == "<server singleton interface /speaker.echo>"
    assert list(interface.operations) == ["say"]


def test_the_interfaces_of_a_component_are_listed_by_name_and_role() -> None:
    component = primitive(Speaker)
    functional = [one.name for one in component.interfaces.values() if one.is_functional]
    assert functional == list(component.interfaces)[:2] == ["echo", "next"]
    assert component.servers == [component.server("echo")]
    assert component.clients == [component.client("next")]
    assert isinstance(component.server("echo"), ServerInterface)
    assert isinstance(component.client("next"), ClientInterface)


@pytest.mark.parametrize(
    ("method", "name", "what", "cure"),
    [
        ("interface", "ecco", "there is no interface 'ecco'", "did you mean 'echo'?"),
        ("interface", "zzz", "there is no interface 'zzz'", "There is: echo, next"),
        ("server", "next", "there is no server interface 'next'", "There is: echo"),
        ("client", "echo", "there is no client interface 'echo'", "There is: next"),
        (
            "server",
            "lifecyle-controller",
            "there is no interface 'lifecyle-controller'",
            "did you mean 'lifecycle-controller'?",
        ),
        (
            "client",
            "lifecycle-controller",
            "there is no client interface 'lifecycle-controller'",
            "There is: next",
        ),
    ],
)
def test_an_unknown_interface_is_answered_with_those_there_are(
    method: str, name: str, what: str, cure: str
) -> None:
    with pytest.raises(NoSuchInterfaceError) as caught:
        getattr(primitive(Speaker), method)(name)
    assert str(caught.value) == f"{what} [component /speaker]. {cure}"


def test_parts_are_found_by_their_path() -> None:
    deep = primitive(Speaker, "deep")
    inner = within("inner", deep)
    root = within("root", inner, primitive(Speaker, "near"))
    assert root.find("inner/deep") is deep
    assert root.find("inner") is inner
    assert root.find("") is root
    assert root.find("/inner//deep/") is deep
    assert deep.path == "/root/inner/deep"


def test_a_path_that_leads_nowhere_is_answered_with_the_nearest_name() -> None:
    root = within("root", within("inner", primitive(Speaker, "deep")))
    with pytest.raises(NoSuchComponentError) as caught:
        root.find("inner/dep")
    assert str(caught.value) == (
        "there is no sub-component 'dep' [component /root/inner]. did you mean 'deep'?"
    )
    with pytest.raises(NoSuchComponentError, match="There is: inner"):
        root.find("xyz")
    with pytest.raises(NoSuchComponentError, match="There is: none"):
        root.find("inner/deep/more")


FACES = ComponentType(
    (
        InterfaceType("in", Echo),
        InterfaceType("out", Echo, Role.CLIENT),
        InterfaceType("many", Echo, cardinality=Cardinality.COLLECTION),
    )
)


def test_every_outer_interface_of_a_composite_has_an_inner_face_of_the_other_role() -> None:
    box = within("box", type=FACES)
    assert list(box.interfaces)[:2] == list(box.inner_interfaces) == ["in", "out"]
    inside, outside = box.inner("in"), box.inner("out")
    assert isinstance(inside, ClientInterface)
    assert isinstance(outside, ServerInterface)
    assert (inside.internal, outside.internal) == (True, True)
    assert (inside.owner, inside.type.role) == (box, Role.INTERNAL_CLIENT)
    assert outside.type.role is Role.INTERNAL_SERVER
    assert box.inner_client("in") is inside
    assert box.inner_server("out") is outside
    assert box.bindables == [box.client("out"), inside]
    assert box.other_face(inside) is box.server("in")
    assert box.other_face(box.server("in")) is inside


def test_an_inner_face_is_asked_for_by_what_it_is() -> None:
    box = within("box", type=FACES)
    with pytest.raises(NoSuchInterfaceError) as caught:
        box.inner_client("out")
    assert (
        caught.value.what == "'out' is a client interface: inside, sub-components are bound to it"
    )
    with pytest.raises(NoSuchInterfaceError) as caught:
        box.inner_server("in")
    assert caught.value.what == (
        "'in' is a server interface: inside, it is bound to a sub-component"
    )
    with pytest.raises(NoSuchInterfaceError) as caught:
        box.inner("oot")
    assert str(caught.value) == "there is no inner face 'oot' [component /box]. did you mean 'out'?"


def test_the_member_of_a_composites_collection_has_two_faces_from_its_first_use() -> None:
    box = within("box", type=FACES)
    face = box.inner("many1")
    assert box.server("many1").name == face.name == "many1"
    assert box.inner("many1") is face
    part = primitive(Speaker)
    box.controller(ContentController).add(part)
    box.bind("many2", part.server("echo"))
    part.start()
    box.bind("in", part.server("echo"))
    box.bind("out", primitive(Speaker, "o").server("echo"))
    box.start()
    assert box.stub("many2", Echo).say("x") == "x"


def test_an_internal_interface_keeps_its_face_and_its_binding() -> None:
    declared = InterfaceType("own", Echo, Role.INTERNAL_CLIENT, Contingency.OPTIONAL)
    part = primitive(Speaker)
    box = within("box", part, type=ComponentType((declared,)))
    face = box.inner("own")
    box.bind("own", part.server("echo"))
    assert box.inner("own") is box.bindable("own") is face
    assert face.servers == (part.server("echo"),)
    assert "own" not in box.interfaces


def test_calls_go_through_nested_composites_both_ways() -> None:
    class Relay:
        next: Annotated[Echo, requires()]

        def say(self, text: str) -> str:
            return self.next.say(text) + "!"

    both = ComponentType((InterfaceType("in", Echo), InterfaceType("out", Echo, Role.CLIENT)))
    relay = primitive(
        Relay,
        type=ComponentType((InterfaceType("in", Echo), InterfaceType("next", Echo, Role.CLIENT))),
    )
    inner = within("inner", relay, type=both)
    outer = within("outer", inner, type=both)
    last = primitive(Speaker)
    root = within("root", outer, last)
    inner.bind("in", relay.server("in"))
    relay.bind("next", inner.inner_server("out"))
    outer.bind("in", inner.server("in"))
    inner.bind("out", outer.inner_server("out"))
    outer.bind("out", last.server("echo"))
    root.start()
    assert outer.stub("in", Echo).say("x") == "x!"


def test_a_component_without_content_of_its_own_has_no_children() -> None:
    component = primitive(Speaker)
    assert component.children == ()
    assert component.other_face(component.server("echo")) is None
