"""Chapter 6: interface types, component types and subtypes; the type factory."""

from __future__ import annotations

from typing import Any

import pytest

from gcm import Cardinality, ComponentType, InterfaceType, Role
from gcm.errors import IllegalTypeError
from tests.fractal.clause import Topic
from tests.fractal.parts import (
    COLLECTION,
    MANDATORY,
    OPTIONAL,
    Echo,
    Loud,
    Speaker,
    client,
    collection,
    composite,
    server,
)

TOPIC = Topic("Type factory")


@TOPIC.rule("6", "an interface type has a name, a signature, a role, contingency and cardinality")
def an_interface_type() -> None:
    made = InterfaceType("clients", Echo, Role.CLIENT, OPTIONAL, COLLECTION)
    assert (made.name, made.signature, made.role) == ("clients", Echo, Role.CLIENT)
    assert (made.is_client, made.is_mandatory, made.is_collection) == (True, False, True)


@TOPIC.rule("6", "a signature that is not a class is refused")
def no_class() -> None:
    nothing: Any = "xyz"
    with pytest.raises(IllegalTypeError, match="'xyz' is not a class"):
        InterfaceType("i", nothing)


@TOPIC.rule("6", "a signature that is no interface but a plain class is refused")
def no_interface() -> None:
    with pytest.raises(IllegalTypeError, match="use a Protocol or an abstract class"):
        InterfaceType("i", Speaker)


@TOPIC.rule("6", "a component type has any interface types, or none")
def a_component_type() -> None:
    for interfaces in ((), (server(),), (client("a"), client("b")), (server(), client("a"))):
        assert ComponentType(interfaces).interfaces == interfaces


@TOPIC.rule("6", "two interfaces of one name are refused")
def one_name_twice() -> None:
    with pytest.raises(IllegalTypeError, match="2 interfaces are named 'i'"):
        ComponentType((server("i"), client("i")))


@TOPIC.rule("6", "a name that begins with the name of a collection is refused")
def a_name_in_a_collection() -> None:
    with pytest.raises(IllegalTypeError, match="collection 'i'"):
        ComponentType((collection("i", Role.CLIENT), collection("ij", Role.CLIENT)))


@TOPIC.rule("6", "a component has one interface of a singleton type and any number of a collection")
def cardinality() -> None:
    box = composite("c", ComponentType((collection("many", Role.SERVER), server())))
    names = ["many0", "many1", "many-x"]
    assert [box.interface(name).name for name in names] == names
    assert box.interface("server") is box.interface("server")


@TOPIC.rule(
    "6",
    "a member of a collection has a name that begins with that of its type",
    instead="the rest of the name may not be empty, as in ProActive: the bare name of a collection "
    "would be taken for a singleton",
)
def a_suffix() -> None:
    declared = ComponentType((collection("many", Role.SERVER),))
    assert declared.find("many") is None
    assert declared.find("many0") is not None


def _loud(role: Role, contingency: Any = MANDATORY, name: str = "i") -> InterfaceType:
    return InterfaceType(name, Loud, role, contingency)


@TOPIC.rule("6", "a server subtype has a sub-interface, and is mandatory where its supertype is")
def server_subtypes() -> None:
    plain, optional = server("i"), server("i", OPTIONAL)
    assert plain.is_subtype_of(plain)
    assert _loud(Role.SERVER).is_subtype_of(plain)
    assert not plain.is_subtype_of(_loud(Role.SERVER))
    assert plain.is_subtype_of(optional)
    assert not optional.is_subtype_of(plain)


@TOPIC.rule("6", "a client subtype has a super-interface, and is optional where its supertype is")
def client_subtypes() -> None:
    plain, optional = client("i"), client("i", OPTIONAL)
    assert plain.is_subtype_of(_loud(Role.CLIENT))
    assert not _loud(Role.CLIENT).is_subtype_of(plain)
    assert optional.is_subtype_of(plain)
    assert not plain.is_subtype_of(optional)


@TOPIC.rule("6", "a subtype has the same name and role, and is a collection where its supertype is")
def other_subtypes() -> None:
    assert not server("i").is_subtype_of(server("j"))
    assert not server("i").is_subtype_of(client("i"))
    many = collection("i", Role.SERVER, MANDATORY)
    assert many.is_subtype_of(server("i"))
    assert not server("i").is_subtype_of(many)
    gathering = InterfaceType("i", Echo, cardinality=Cardinality.GATHERCAST)
    assert not gathering.is_subtype_of(server("i"))
    assert gathering.is_subtype_of(gathering)


@TOPIC.rule("6", "a component subtype serves all that its supertype serves, and needs nothing more")
def component_subtypes() -> None:
    base = ComponentType((server("s"), client("c")))
    more = ComponentType((_loud(Role.SERVER, name="s"), server("t")))
    assert base.is_subtype_of(base)
    assert more.is_subtype_of(base)
    assert not base.is_subtype_of(more)
    assert not ComponentType((server("s"), client("d"))).is_subtype_of(base)
    assert ComponentType().is_subtype_of(ComponentType((client("c"),)))
    assert not ComponentType().is_subtype_of(base)
