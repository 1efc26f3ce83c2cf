"""Chapter 3: what a component and an interface tell of themselves."""

from __future__ import annotations

import pytest

from gcm import ComponentController, ComponentType, Role
from gcm.errors import NoSuchInterfaceError
from tests.fractal.clause import Topic
from tests.fractal.parts import (
    FULL,
    SERVER,
    Speaker,
    client,
    collection,
    composite,
    interface_names,
    primitive,
    server,
)

TOPIC = Topic("Introspection")


@TOPIC.rule("3.2", "every component has an interface named `component`")
def the_component_interface() -> None:
    for one in (primitive("p"), composite("c")):
        looking = one.server("component").stub
        assert looking.path() == one.path  # type: ignore[attr-defined]  # a stub has the operations
        assert one.controller(ComponentController).type() is one.type


@TOPIC.rule("3.2", "its interfaces are all external ones, functional and of controllers")
def all_external_interfaces() -> None:
    part = primitive("p")
    functional = {"server", "client"}
    control = {"component", "binding-controller", "lifecycle-controller", "name-controller"}
    assert functional | control <= interface_names(part)
    assert {one.name for one in part.interfaces.values() if one.is_functional} == functional
    assert part.controller(ComponentController).interfaces() == list(part.interfaces)


@TOPIC.rule("3.2", "the inner faces of a composite are not among them")
def no_internal_interfaces() -> None:
    box = composite("c")
    assert not [one for one in box.interfaces.values() if one.internal]


@TOPIC.rule("3.2", "an interface is found by its name, always the same one")
def an_interface_by_name() -> None:
    part = primitive("p")
    for name, one in part.interfaces.items():
        assert part.interface(name) is one


@TOPIC.rule("3.2", "a name that no interface has is refused")
def no_such_interface() -> None:
    with pytest.raises(NoSuchInterfaceError, match="did you mean 'server'"):
        primitive("p").interface("servr")


@TOPIC.rule("3.2", "a member of a collection comes to be when it is first asked for")
def a_member_on_first_use() -> None:
    part = primitive("p")
    assert "servers0" not in part.interfaces
    member = part.interface("servers0")
    assert part.interfaces["servers0"] is member


@TOPIC.rule("3.2", "a component tells its type")
def the_type_of_a_component() -> None:
    assert primitive("p").type is FULL
    assert primitive("p", ComponentType(), Speaker).type == ComponentType()


@TOPIC.rule("3.3", "an interface tells its owner, name and type, and whether it is internal")
def an_interface_of_itself() -> None:
    box = composite("c")
    outer, inner = box.server("server"), box.inner_client("server")
    assert (outer.owner, outer.name, outer.type, outer.internal) == (box, "server", server(), False)
    assert (inner.owner, inner.name, inner.internal) == (box, "server", True)


@TOPIC.rule("4.1", "each external functional interface of a composite has an inner face")
def inner_faces() -> None:
    box = composite("c")
    roles = {one.name: one.type.role for one in box.inner_interfaces.values()}
    assert roles == {"server": Role.INTERNAL_CLIENT, "client": Role.INTERNAL_SERVER}


@TOPIC.rule("6", "the type of an interface is found by the interface's name")
def a_type_by_name() -> None:
    assert FULL.find("server") == server()
    assert FULL.find("client") == client()
    assert FULL.find("servers5") == collection("servers", Role.SERVER)
    assert SERVER.find("client") is None
