"""Section 4.4: the content controller, sharing, and the super controller."""

from __future__ import annotations

import pytest

from gcm import AttributeController, ComponentType, Role, SuperController
from gcm.errors import (
    IllegalContentError,
    IllegalLifeCycleError,
    NoSuchControllerError,
    NoSuchInterfaceError,
)
from tests.fractal.clause import Topic
from tests.fractal.parts import (
    SERVER,
    Speaker,
    client,
    composite,
    content_of,
    primitive,
    server,
)

TOPIC = Topic("Content controller")
SHARING = Topic("Sharing")
PARENTS = Topic("Super controller")

LAX = ComponentType((server(),))


@TOPIC.rule("4.4", "sub-components are added, listed as components, and removed")
def add_and_remove() -> None:
    c, e = composite("c"), primitive("e")
    content_of(c).add(e)
    assert content_of(c).sub_components() == (e,)
    content_of(c).remove(e)
    assert content_of(c).sub_components() == ()


@TOPIC.rule("4.4", "the inner faces are listed and found by name")
def internal_interfaces() -> None:
    content = content_of(composite("c"))
    assert set(content.internal_interfaces()) == {"server", "client"}
    assert content.internal_interface("server").type.role is Role.INTERNAL_CLIENT
    assert content.internal_interface("servers0").name == "servers0"
    with pytest.raises(NoSuchInterfaceError):
        content.internal_interface("x")


@TOPIC.rule("4.4", "a component is not added twice")
def already_there() -> None:
    e = primitive("e")
    c = composite("c", parts=[e])
    with pytest.raises(IllegalContentError, match="'e'.*already"):
        content_of(c).add(e)


@TOPIC.rule("4.4", "a component is not added to itself, nor to what it contains")
def no_cycles() -> None:
    d = composite("d")
    c = composite("c", parts=[d])
    for outer, inner in ((c, c), (d, c)):
        with pytest.raises(IllegalContentError, match=r"itself|cycle"):
            content_of(outer).add(inner)
    assert content_of(d).sub_components() == ()


@TOPIC.rule("4.4", "what it does not contain is not removed")
def not_there() -> None:
    with pytest.raises(IllegalContentError, match="sub-component"):
        content_of(composite("c")).remove(composite("d"))


@TOPIC.rule("4.4", "the content of a composite that is not stopped does not change")
def not_stopped() -> None:
    e = primitive("e", SERVER, Speaker)
    c = composite("c", LAX, parts=[e])
    c.bind("server", e.server("server"))
    c.start()
    with pytest.raises(IllegalLifeCycleError):
        content_of(c).remove(e)
    with pytest.raises(IllegalLifeCycleError):
        content_of(c).add(primitive("f", SERVER, Speaker))
    assert content_of(c).sub_components() == (e,)


@TOPIC.rule("4.4", "a primitive does not show its content")
def a_primitive_has_none() -> None:
    with pytest.raises(NoSuchControllerError):
        content_of(primitive("e"))


@TOPIC.rule(
    "4.4",
    "names of sub-components need not differ",
    instead="siblings have different names, since paths, bindings of documents and messages name "
    "components: one of two has to be renamed before it is added",
)
def siblings_of_one_name() -> None:
    c = composite("c", parts=[primitive("e")])
    with pytest.raises(IllegalContentError, match="another .*'e'"):
        content_of(c).add(primitive("e"))
    content_of(composite("d")).add(primitive("e"))


@SHARING.rule("4.4", "a component may be in several composites, and is one component")
def in_two_composites() -> None:
    shared = primitive("shared", SERVER, Speaker)
    left, right = (composite(name, SERVER, parts=[shared]) for name in ("left", "right"))
    assert content_of(left).sub_components() == content_of(right).sub_components() == (shared,)
    for box in (left, right):
        box.bind("server", shared.server("server"))
    left.start()
    shared.controller(AttributeController).set("size", 2)
    assert shared.state == "started"
    assert left.server("server").stub.say("x") == "xx"  # type: ignore[attr-defined]


@SHARING.rule("4.4", "in each of them it is bound to what is there")
def bound_in_both() -> None:
    shared = primitive("shared", SERVER, Speaker)
    near = [primitive(name, ComponentType((client(),)), Speaker) for name in ("one", "two")]
    for name, caller in zip(("left", "right"), near, strict=True):
        composite(name, ComponentType(), parts=[shared, caller])
        caller.bind("client", shared.server("server"))
    assert [one.owner.name for one in shared.server("server").clients] == ["one", "two"]


@SHARING.rule("4.4", "leaving one composite, it stays in the others")
def leaving_one() -> None:
    shared = primitive("shared")
    left, right = (composite(name, parts=[shared]) for name in ("left", "right"))
    content_of(left).remove(shared)
    assert shared.controller(SuperController).super_components() == (right,)


@SHARING.rule(
    "4.5",
    "the life cycle of a shared component is left open",
    instead="it starts with the first of them and stops with the first, for a composite that is "
    "stopped runs nothing; it ends only with the last",
)
def a_shared_life() -> None:
    shared = primitive("shared", SERVER, Speaker)
    left, right = (composite(name, ComponentType(), parts=[shared]) for name in ("left", "right"))
    left.start()
    right.start()
    left.stop()
    left.terminate()
    assert (left.state, shared.state, right.state) == ("terminated", "stopped", "started")
    right.stop()
    right.terminate()
    assert shared.state == "terminated"


@PARENTS.rule("4.4", "a component knows its super-components, as components")
def super_components() -> None:
    part = primitive("e")
    parents = part.controller(SuperController)
    assert parents.super_components() == ()
    left = composite("left", parts=[part])
    right = composite("right", parts=[part])
    assert parents.super_components() == (left, right)
    assert parents.parents() == ["/left", "/right"]
    assert left.controller(SuperController).super_components() == ()
