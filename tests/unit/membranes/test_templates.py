"""What instances of templates have besides what the specification asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest

from gcm import (
    ACTIVE,
    COMPOSITE,
    PARAMETRIC_COMPOSITE,
    PRIMITIVE,
    Cardinality,
    Component,
    ComponentType,
    ContentController,
    FactoryController,
    InterfaceType,
    Role,
    attribute,
    new_component,
    new_template,
    primitive,
    provides,
)
from gcm.components.declarations import declared_type
from gcm.errors import IllegalContentError, IllegalLifeCycleError
from gcm.interfaces.interface import Referenced
from gcm.membranes.binding import BindingController
from tests.unit.parts import Asking, Casting, Echo


@provides("echo", Echo)
class Speaker:
    sizes: Annotated[list[int], attribute()]
    ready: Annotated[bool, attribute()] = False

    def say(self, text: str) -> str:
        return text


@provides("sum", Echo, cardinality=Cardinality.GATHERCAST)
class Sum:
    def say(self, text: list[str]) -> list[str]:
        return text


def template(name: str, content: type[Any], controllers: Any = PRIMITIVE) -> Component:
    return new_template(name, declared_type(content), controllers, content)


def box_of(*parts: Component) -> Component:
    box = new_template("box", ComponentType(), COMPOSITE)
    for part in parts:
        box.controller(ContentController).add(part)
    return box


def instance(of: Component) -> Component:
    return of.controller(FactoryController).new_instance()


def test_a_multicast_has_its_servers_in_the_order_of_the_template() -> None:
    cast, parts = template("cast", Casting), [template(name, Speaker) for name in "abc"]
    box = box_of(*parts, cast)
    for number in (2, 0, 1):
        cast.bind("all", parts[number].server("echo"))
    made = instance(box).find("cast")
    bound = made.controller(BindingController).lookup("all")
    assert [end.path for end in bound] == ["/box/c.echo", "/box/a.echo", "/box/b.echo"]


def test_a_gathercast_has_its_clients_in_the_order_of_the_template() -> None:
    total, parts = template("sum", Sum), [template(name, Asking) for name in "abc"]
    box = box_of(*parts, total)
    for number in (2, 0, 1):
        parts[number].bind("next", total.server("sum"))
    clients = instance(box).find("sum").server("sum").clients
    assert [client.owner.name for client in clients] == ["c", "a", "b"]


def test_values_of_attributes_are_copied_and_missing_ones_stay_missing() -> None:
    made = template("speaker", Speaker)
    one = instance(made)
    assert not hasattr(one.content, "sizes")
    made.content.sizes = [1, 2]
    two = instance(made)
    assert two.content.sizes == [1, 2]
    assert two.content.sizes is not made.content.sizes


def test_a_binding_to_a_component_outside_is_that_of_the_instances() -> None:
    asking, outside = template("asking", Asking), primitive(Speaker)
    asking.bind("next", outside.server("echo"))
    for _ in range(2):
        bound = instance(asking).controller(BindingController).lookup("next")
        assert bound == (outside.server("echo"),)
    inside = template("asking", Asking)
    box = box_of(inside)
    inside.bind("next", Referenced(outside.server("echo")))
    bound = instance(box).find("asking").controller(BindingController).lookup("next")
    assert bound == (Referenced(outside.server("echo")),)


def test_a_binding_to_another_template_is_left_to_whoever_uses_the_instance() -> None:
    asking, other = template("asking", Asking), template("speaker", Speaker)
    asking.bind("next", other.server("echo"))
    assert instance(asking).controller(BindingController).lookup("next") == ()


def test_an_instance_of_an_active_template_serves_its_requests() -> None:
    made = instance(template("speaker", Speaker, ACTIVE))
    made.start()
    assert made.stub("echo", Echo).say("x") == "x"
    assert made.membrane.description is ACTIVE
    made.stop()
    made.terminate()


def test_a_call_of_a_template_is_refused() -> None:
    with pytest.raises(IllegalLifeCycleError, match="before"):
        template("speaker", Speaker).stub("echo", Echo).say("x")


def test_a_factory_that_nobody_told_what_to_make_says_so() -> None:
    lonely = primitive(Speaker, controllers=PRIMITIVE.including(FactoryController))
    with pytest.raises(IllegalContentError, match=r"Make templates with gcm\.new_template"):
        instance(lonely)


def test_the_content_of_a_parametric_composite_is_told_of_start_and_stop() -> None:
    told: list[str] = []

    class Settings:
        size: Annotated[int, attribute()] = 1

        def on_start(self) -> None:
            told.append("start")

        def on_stop(self) -> None:
            told.append("stop")

    box = new_component("box", ComponentType(), PARAMETRIC_COMPOSITE, Settings)
    box.start()
    box.stop()
    assert told == ["start", "stop"]
    empty = new_component("empty", ComponentType(), PARAMETRIC_COMPOSITE)
    assert empty.content is None
    empty.start()


@pytest.mark.parametrize("role", [Role.SERVER, Role.CLIENT])
def test_templates_have_the_inner_faces_of_composites(role: Role) -> None:
    declared = ComponentType((InterfaceType("echo", Echo, role),))
    box = new_component("box", declared, "compositeTemplate")
    assert set(box.controller(ContentController).internal_interfaces()) == {"echo"}


def test_the_makers_of_primitives_and_composites_refuse_each_others_membranes() -> None:
    from gcm import composite
    from gcm.errors import InstantiationError

    makers: list[Callable[[], Component]] = [
        lambda: composite("box", content=Speaker, controllers=PRIMITIVE),
        lambda: primitive(Speaker, controllers="parametricComposite"),
    ]
    for make, cure in zip(makers, ("primitive", "composite"), strict=True):
        with pytest.raises(InstantiationError, match=rf"Make it with {cure}\("):
            make()
    assert primitive(Speaker, controllers="active").membrane.description is ACTIVE
    assert composite("box", content=Speaker).membrane.description is PARAMETRIC_COMPOSITE
    assert composite("box", controllers="composite").membrane.description is COMPOSITE
