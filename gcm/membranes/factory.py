"""The `factory` controller of templates: makes assemblies that are copies of the template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

from gcm.components.composite import Composite
from gcm.components.controller import Controller
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.errors import IllegalContentError, NoSuchAttributeError
from gcm.interfaces.interface import ClientInterface, ServerEnd, ServerInterface
from gcm.interfaces.types import ComponentType
from gcm.interfaces.value import by_value
from gcm.membranes.attribute import AttributeController
from gcm.membranes.content import ContentController
from gcm.membranes.tree import inside_out

Content = Callable[[], Any]
MakeOne = Callable[[str, ComponentType, MembraneDescription, Content | None], Component]
Binding = tuple[ClientInterface, ServerEnd]


class FactoryController(Controller):
    """Makes instances of a template: components, attributes, names, sharing and bindings.

    Bindings of the template itself to something outside are those of its instances as well, unless
    that is a template too.
    """

    __slots__ = ("_content", "_controllers", "_make")
    name = "factory"
    __not_operations__ = Controller.__not_operations__ | {"is_to_make"}

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._make: MakeOne | None = None
        self._controllers: MembraneDescription | None = None
        self._content: Content | None = None

    def is_to_make(
        self, make: MakeOne, controllers: MembraneDescription, content: Content | None
    ) -> None:
        """Record how one bare component of an instance is made."""
        self._make, self._controllers, self._content = make, controllers, content

    def type(self) -> ComponentType:
        """Return the type of the instances."""
        return self.component.type

    def controllers(self) -> MembraneDescription | None:
        """Return the membrane of the instances."""
        return self._controllers

    def content(self) -> Content | None:
        """Return what makes the content of the instances; None for composites without."""
        return self._content

    def new_instance(self) -> Component:
        """Make an assembly like the present template; it is stopped.

        Raises:
            InstantiationError: a content cannot be made.
        """
        template = self.component
        made = {part: _factory(part).new_part() for part in inside_out(template)}
        for part, instance in made.items():
            _copy_attributes(part, instance)
            for child in part.children:
                instance.controller(ContentController).add(made[child])
        for client, server in _in_order(made):
            end = _counterpart(server, made)
            if end is not None:
                made[client.owner].bind(client.name, end)
        return made[template]

    def new_part(self) -> Component:
        """Make the instance of this template alone, without its sub-components.

        Raises:
            InstantiationError: the content cannot be made.
        """
        if self._make is None or self._controllers is None:
            raise IllegalContentError(
                "this membrane has a factory, and nobody told it what to make",
                component=self.component.path,
                cure="Make templates with gcm.new_template",
            )
        own = self.component
        return self._make(own.name, own.type, self._controllers, self._content)

    def faults_before_start(self) -> Iterable[str]:
        """Refuse: a template does not run."""
        yield (
            "it is a template, which does not run. Start an instance: "
            "component.controller(FactoryController).new_instance()"
        )


def _factory(part: Component) -> FactoryController:
    return part.controller(FactoryController)


def _copy_attributes(template: Component, instance: Component) -> None:
    if AttributeController.name not in template.membrane:
        return
    source, target = (one.controller(AttributeController) for one in (template, instance))
    for name in source.names():
        try:
            value = source.get(name)
        except NoSuchAttributeError:  # it has no value yet
            continue
        target.set(name, by_value(value))


def _counterpart(server: ServerEnd, made: Mapping[Component, Component]) -> ServerEnd | None:
    """Return the end in the instance for one in the template; None for that of another template."""
    if not isinstance(server, ServerInterface):
        return server
    owner = made.get(server.owner)
    if owner is None:
        return None if FactoryController.name in server.owner.membrane else server
    if server.internal and isinstance(owner, Composite):
        return owner.inner_server(server.name)
    return owner.server(server.name)


def _in_order(parts: Iterable[Component]) -> Iterator[Binding]:
    """Yield the bindings such that each interface has its partners in the order of the template."""
    bindings: dict[Binding, None] = {
        (client, server): None
        for part in parts
        for client in part.bindables
        for server in client.servers
    }
    chains: list[list[Binding]] = []
    for client in dict.fromkeys(client for client, _ in bindings):
        chains.append([(client, server) for server in client.servers])
    for server in dict.fromkeys(server for _, server in bindings):
        if isinstance(server, ServerInterface):
            pairs: list[Binding] = [(client, server) for client in server.clients]
            chains.append([pair for pair in pairs if pair in bindings])
    order: TopologicalSorter[Binding] = TopologicalSorter(dict.fromkeys(bindings, ()))
    for chain in chains:
        for earlier, later in pairwise(chain):
            order.add(later, earlier)
    yield from order.static_order()
