"""An assembly made in Python: types, a template, introspection, and a component that moves.

    python examples/09_made_in_python/bakery.py

Everything that a document describes can be written in Python. A component type lists interface
types; the factory creates components of a type, and any number of instances of a template, with its
attributes. The controllers of a live component show what it is, where it is, and what it contains.
"""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from gcm import (
    COMPOSITE,
    PARAMETRIC_COMPOSITE,
    PRIMITIVE,
    AttributeController,
    Caller,
    Component,
    ComponentController,
    ComponentType,
    Composite,
    ContentController,
    Contingency,
    FactoryController,
    Future,
    InterfaceType,
    Invocation,
    MembraneDescription,
    MigrationController,
    NameController,
    Primitive,
    Role,
    SuperController,
    attribute,
    composite,
    new_component,
    new_template,
    primitive,
)


class Oven(Protocol):
    def bake(self, what: str) -> str: ...


class Baker:
    """The content of the ovens."""

    heat: Annotated[int, attribute()] = 200

    def bake(self, what: str) -> str:
        return f"{what} at {self.heat} degrees"


class Shop:
    """The content of a parametric composite: it holds the attributes."""

    street: Annotated[str, attribute()] = "Main Street"


OVEN = ComponentType((InterfaceType("oven", Oven),))
SHOP = ComponentType(
    (
        InterfaceType("oven", Oven),
        InterfaceType("spare", Oven, Role.CLIENT, Contingency.OPTIONAL),
    )
)
PLAIN = MembraneDescription("plain", PRIMITIVE.controllers)


class NextDoor:
    """A destination that adopts a component and receives its calls."""

    def adopt(self, component: Component, content: Any) -> Caller:
        there = primitive(lambda: content, "moved", type=component.type)
        there.start()
        return Carrier(there)


class Carrier:
    def __init__(self, there: Primitive) -> None:
        self.there = there

    def call(self, invocation: Invocation) -> Future[Any]:
        answer: Future[Any] = Future()
        stub: Any = self.there.stub(invocation.interface, Oven)
        answer.set_result("next door: " + getattr(stub, invocation.operation)(*invocation.args))
        return answer


def main() -> None:
    template = new_template("oven", OVEN, PLAIN, Baker)
    template.controller(AttributeController).set("heat", 230)
    ovens = [template.controller(FactoryController).new_instance() for _ in range(2)]
    for number, oven in enumerate(ovens):
        oven.controller(NameController).set(f"oven{number}")
    bakery = composite("bakery", SHOP, content=Shop, controllers=PARAMETRIC_COMPOSITE)
    for oven in ovens:
        bakery.controller(ContentController).add(oven)
    bakery.bind("oven", ovens[0].server("oven"))
    street = new_component("street", ComponentType(), COMPOSITE)
    street.controller(ContentController).add(bakery)
    street.start()
    print(bakery.stub("oven", Oven).bake("bread"))
    print("in", bakery.controller(AttributeController).get("street"))
    print("interfaces:", bakery.controller(ComponentController).interfaces()[:2])
    print("inside:", bakery.controller(ContentController).names())
    print("parents of oven1:", ovens[1].controller(SuperController).parents())
    print(
        "composites:", [one.name for one in (street, bakery, *ovens) if isinstance(one, Composite)]
    )
    ovens[0].controller(MigrationController).migrate(NextDoor())
    print(bakery.stub("oven", Oven).bake("cake"))
    street.stop()
    street.terminate()


if __name__ == "__main__":
    main()
