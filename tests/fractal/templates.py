"""Section 5.2: templates and the factory interface."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pytest

from gcm import (
    PRIMITIVE,
    AttributeController,
    Component,
    Composite,
    FactoryController,
    NameController,
    new_component,
    new_template,
)
from gcm.errors import IllegalContentError, IllegalLifeCycleError, InstantiationError
from tests.fractal.clause import Topic
from tests.fractal.parts import (
    FULL,
    SERVER,
    Caller,
    Speaker,
    bound,
    composite,
    content_of,
    interface_names,
    primitive,
)

TOPIC = Topic("Templates")


def _template(name: str, kind: str = "primitive") -> Component:
    content = None if kind == "composite" else Caller
    return new_component(name, FULL, f"{kind}Template", content)


def _instance(template: Component) -> Component:
    return template.controller(FactoryController).new_instance()


@TOPIC.rule(
    "5.2",
    "a template has a factory interface, and no life-cycle controller",
    instead="it has one, which refuses to start it: in every component calls ask it whether they "
    "may enter",
)
def the_factory_interface() -> None:
    for kind in ("primitive", "flatPrimitive", "active", "composite"):
        template = _template("t", kind)
        assert "factory" in interface_names(template)
        with pytest.raises(IllegalLifeCycleError, match="it is a template"):
            template.start()


@TOPIC.rule("5.2", "the factory tells the type, the membrane and the content of its instances")
def what_a_factory_makes() -> None:
    factory = _template("t").controller(FactoryController)
    assert factory.type() is FULL
    assert factory.controllers() is PRIMITIVE
    assert factory.content() is Caller


@TOPIC.rule("5.2", "an instance has what a component of its type has, and no factory")
def what_an_instance_has() -> None:
    for kind in ("primitive", "parametricPrimitive", "active", "composite"):
        made = _instance(_template("t", kind))
        direct = new_component("t", FULL, kind, None if kind == "composite" else Caller)
        assert interface_names(made) == interface_names(direct)
        assert (made.name, made.state, made.parents) == ("t", "stopped", ())


@TOPIC.rule("5.2", "instances are made again and again, and share nothing")
def several_instances() -> None:
    template = new_template("t", SERVER, PRIMITIVE, Speaker)
    first, second = _instance(template), _instance(template)
    assert first is not second
    assert len({id(one.content) for one in (template, first, second)}) == 3


@TOPIC.rule("5.2", "an instance has the attributes and the name that its template has by then")
def attributes_and_names() -> None:
    for kind in ("parametricPrimitive", "parametricComposite"):
        template = new_component("t", SERVER, f"{kind}Template", Speaker)
        template.controller(AttributeController).set("size", 7)
        template.controller(NameController).set("worker")
        made = _instance(template)
        assert (made.name, made.controller(AttributeController).get("size")) == ("worker", 7)
        made.controller(AttributeController).set("size", 8)
        assert template.controller(AttributeController).get("size") == 7


@TOPIC.rule("5.2", "the instance of a composite template holds instances, shared where they are")
def the_content_of_an_instance() -> None:
    root, left, right = (_template(name, "composite") for name in ("root", "left", "right"))
    shared = _template("shared")
    for box, part in ((root, left), (root, right), (left, shared), (right, shared)):
        content_of(box).add(part)
    made = _instance(root)
    one, two = content_of(made).sub_components()
    assert [one.name, two.name] == ["left", "right"]
    assert content_of(one).sub_components() == content_of(two).sub_components()
    (part,) = content_of(one).sub_components()
    assert part is not shared
    assert part.parents == (one, two)


@TOPIC.rule("5.2", "the instance of a composite template has its bindings")
def the_bindings_of_an_instance() -> None:
    root, c, d = _template("root", "composite"), _template("c"), _template("d", "composite")
    content_of(root).add(c)
    content_of(root).add(d)
    assert isinstance(root, Composite)
    root.bind("server", c.server("server"))
    root.bind("servers0", c.server("servers0"))
    c.bind("client", d.server("server"))
    c.bind("clients0", d.server("servers0"))
    d.bind("client", root.inner_server("client"))
    d.bind("clients0", root.inner_server("clients0"))
    made = _instance(root)
    assert isinstance(made, Composite)
    new_c, new_d = content_of(made).sub_components()
    assert bound(made, "server") == [new_c.server("server")]
    assert bound(made, "servers0") == [new_c.server("servers0")]
    assert bound(new_c, "client") == [new_d.server("server")]
    assert bound(new_c, "clients0") == [new_d.server("servers0")]
    assert bound(new_d, "client") == [made.inner_server("client")]
    assert bound(new_d, "clients0") == [made.inner_server("clients0")]
    assert bound(root, "server") == [c.server("server")]


@TOPIC.rule("5.2", "templates hold templates, and components hold components")
def no_mixture() -> None:
    with pytest.raises(IllegalContentError, match="'t' is a template"):
        content_of(composite("c")).add(_template("t"))
    with pytest.raises(IllegalContentError, match="'p' is not a template"):
        content_of(_template("t", "composite")).add(primitive("p"))


@TOPIC.rule("5.2", "a template is refused where its instances would be")
def unfit_templates() -> None:
    class Abstract(ABC):
        @abstractmethod
        def say(self, text: str) -> str: ...

    for content in (Abstract, object, None):
        with pytest.raises(InstantiationError):
            new_component("t", SERVER, "primitiveTemplate", content)
    with pytest.raises(InstantiationError, match="there is no membrane 'unknownTemplate'"):
        new_component("t", SERVER, "unknownTemplate", Speaker)
    with pytest.raises(InstantiationError, match="Write 'primitive', or new_component") as caught:
        new_template("t", SERVER, "primitiveTemplate", Speaker)
    assert "is the membrane of a template, and not of what it makes" in caught.value.what
