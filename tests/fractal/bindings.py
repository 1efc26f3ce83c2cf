"""Section 4.3: the binding controller."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gcm import BindingController, Component, Composite
from gcm.errors import (
    IllegalBindingError,
    IllegalContentError,
    IllegalLifeCycleError,
    NoSuchInterfaceError,
)
from tests.fractal.clause import Topic
from tests.fractal.parts import (
    OTHERS,
    SERVER,
    Speaker,
    bound,
    composite,
    content_of,
    primitive,
)

TOPIC = Topic("Binding controller")


def _pair() -> tuple[Component, Component]:
    return primitive("c"), primitive("d")


def _boxed() -> tuple[Composite, Component, Composite]:
    """Return a composite `r` with a primitive `c` and a composite `d` inside."""
    c, d = primitive("c"), composite("d")
    return composite("r", parts=(c, d)), c, d


def _names(component: Component) -> list[str]:
    return component.controller(BindingController).names()


@TOPIC.rule("4.3", "the client interfaces of a primitive are listed")
def the_list_of_a_primitive() -> None:
    assert _names(primitive("c")) == ["client"]


@TOPIC.rule("4.3", "the client interfaces of a composite and its inner ones are listed")
def the_list_of_a_composite() -> None:
    assert sorted(_names(composite("r"))) == ["client", "server"]


@TOPIC.rule(
    "4.3",
    "a binding is made, looked up and taken back",
    instead="`lookup` returns a tuple: of nothing, of one, or of all servers of a multicast",
)
def bind_lookup_unbind() -> None:
    c, d = _pair()
    c.bind("client", d.server("server"))
    assert _names(c) == ["client"]
    assert bound(c, "client") == [d.server("server")]
    c.unbind("client")
    assert bound(c, "client") == []


def _member(component: Component, name: str, bind: Callable[[], None], end: object) -> None:
    bind()
    assert name in _names(component)
    assert bound(component, name) == [end]
    component.unbind(name)
    assert bound(component, name) == []


@TOPIC.rule("4.3", "members of a collection are bound by their names")
def bind_a_member() -> None:
    c, d = _pair()
    end = d.server("server")
    _member(c, "clients0", lambda: c.bind("clients0", end), end)


@TOPIC.rule("4.3", "export: an inner face of a composite is bound to a sub-component")
def an_export_binding() -> None:
    r, c, _ = _boxed()
    end = c.server("server")
    _member(r, "server", lambda: r.bind("server", end), end)
    _member(r, "servers0", lambda: r.bind("servers0", end), end)


@TOPIC.rule("4.3", "import: a sub-component is bound to an inner face of its composite")
def an_import_binding() -> None:
    r, _, d = _boxed()
    end = r.inner_server("client")
    _member(d, "client", lambda: d.bind("client", end), end)
    _member(d, "clients0", lambda: d.bind("clients0", end), end)


@TOPIC.rule("4.3", "the two inner faces of a composite are bound to each other")
def a_binding_straight_through() -> None:
    r = composite("r")
    end = r.inner_server("client")
    _member(r, "server", lambda: r.bind("server", end), end)
    _member(
        r,
        "servers0",
        lambda: r.bind("servers0", r.inner_server("clients0")),
        r.inner_server("clients0"),
    )


@TOPIC.rule("4.3", "an interface that does not exist is not bound, unbound or looked up")
def no_such_interface() -> None:
    c, d = _pair()
    for part in (c, composite("r")):
        controller = part.controller(BindingController)
        attempts: list[Callable[[], object]] = [
            lambda controller=controller: controller.lookup("x"),  # type: ignore[misc]  # one per part
            lambda controller=controller: controller.unbind("x"),  # type: ignore[misc]
            lambda controller=controller: controller.bind("x", d.server("server")),  # type: ignore[misc]
        ]
        for attempt in attempts:
            with pytest.raises(NoSuchInterfaceError):
                attempt()


def _refused(component: Component, client: str, end: object, why: str) -> None:
    before = bound(component, client)
    with pytest.raises(IllegalBindingError, match=why):
        component.bind(client, end)  # type: ignore[arg-type]  # also what is no end at all
    assert bound(component, client) == before


@TOPIC.rule("4.3", "nothing but a server interface can be bound to")
def no_server_interface() -> None:
    c, _ = _pair()
    _refused(c, "client", c.client("client"), "is a client interface")
    _refused(c, "client", object(), "not a server interface")


@TOPIC.rule("4.3", "the server's signature is the client's or a sub-interface of it")
def another_signature() -> None:
    other = primitive("e", OTHERS, Speaker)
    _refused(primitive("c"), "client", other.server("clock"), "Clock has no operation 'say'")


@TOPIC.rule("6", "a mandatory client is not bound to an optional server")
def mandatory_to_optional() -> None:
    other = primitive("e", OTHERS, Speaker)
    _refused(primitive("c"), "client", other.server("shy"), "a mandatory client needs a mandatory")


@TOPIC.rule("4.3", "what is bound is not bound again, neither a singleton nor a member")
def already_bound() -> None:
    c, d = _pair()
    for name in ("client", "clients0"):
        c.bind(name, d.server("server"))
        _refused(c, name, d.server("server"), "already")
        _refused(c, name, primitive("e").server("server"), "has one server")


@TOPIC.rule("4.3", "what is not bound is not unbound")
def not_bound() -> None:
    for part in (primitive("c"), composite("d")):
        with pytest.raises(IllegalBindingError, match="is not bound"):
            part.unbind("client")


@TOPIC.rule("4.3", "bindings of a component that is not stopped do not change")
def not_stopped() -> None:
    c, d = _pair()
    for name in ("client", "clients0"):
        c.bind(name, d.server("server"))
    c.start()
    for name in ("client", "clients0"):
        with pytest.raises(IllegalLifeCycleError):
            c.unbind(name)
        with pytest.raises(IllegalLifeCycleError):
            c.bind(name, d.server("server"))
    assert bound(c, "client") == [d.server("server")]
    c.stop()
    c.unbind("client")


@TOPIC.rule("4.3", "an export binding leads to a sub-component and nowhere else")
def no_export_to_outside() -> None:
    r, c, _ = _boxed()
    content_of(r).remove(c)
    _refused(r, "server", c.server("server"), "not in the same composite")


@TOPIC.rule("4.3", "an import binding comes from a sub-component and from nowhere else")
def no_import_from_outside() -> None:
    r, _, d = _boxed()
    content_of(r).remove(d)
    _refused(d, "client", r.inner_server("client"), "not in the same composite")


@TOPIC.rule("4.3", "a normal binding lies within one composite")
def no_binding_across() -> None:
    r, c, d = _boxed()
    content_of(r).remove(d)
    _refused(c, "client", d.server("server"), "not in the same composite")
    _refused(d, "client", c.server("server"), "not in the same composite")
    _refused(r, "client", c.server("server"), "not in the same composite")
    composite("s", parts=[d])
    _refused(c, "client", d.server("server"), "not in the same composite")


@TOPIC.rule("4.3", "a sub-component is not removed while a binding of it would lose its locality")
def no_removal_of_the_bound() -> None:
    r, c, d = _boxed()
    ways: list[tuple[Component, str, Component, str]] = [
        (r, "server", c, "server"),
        (c, "client", d, "server"),
        (d, "client", c, "server"),
    ]
    for one, name, other, end in ways:
        one.bind(name, other.server(end))
        with pytest.raises(IllegalContentError, match="while it is bound"):
            content_of(r).remove(c)
        one.unbind(name)
    c.bind("client", r.inner_server("client"))
    with pytest.raises(IllegalContentError, match="while it is bound"):
        content_of(r).remove(c)


@TOPIC.rule(
    "4.3",
    "bindings are local at every moment",
    instead="parts may be bound to each other before they are added, in any order; a binding that "
    "is not local then is found when its component is to start",
)
def early_bindings() -> None:
    c, d = primitive("c"), primitive("d", SERVER, Speaker)
    c.bind("client", d.server("server"))
    r = composite("r", SERVER, parts=[c])
    r.bind("server", c.server("server"))
    with pytest.raises(IllegalLifeCycleError, match="not in the same composite"):
        r.start()
    content_of(r).add(d)
    r.start()
