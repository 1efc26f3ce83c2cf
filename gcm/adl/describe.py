"""From a live assembly back to the definition that makes the same one again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from gcm.adl.arguments import escape
from gcm.adl.export import write_definition
from gcm.adl.homes import Homes, parts_of
from gcm.adl.model import (
    AttributeNode,
    AttributesNode,
    BindingNode,
    Body,
    ComponentNode,
    ComposingVirtualNode,
    ContentNode,
    ControllerNode,
    Definition,
    ExportedVirtualNode,
    InterfaceNode,
    LoggerNode,
    VirtualNodeNode,
)
from gcm.adl.naming import NamelessError, class_name, object_name
from gcm.adl.plan import MembraneKind, NodeCardinality
from gcm.adl.values import ValueFault
from gcm.adl.wires import THIS, Wire, wires_of
from gcm.adl.written import text_of, written
from gcm.components.composite import Composite
from gcm.components.declarations import declared_attributes, declared_interfaces
from gcm.components.model import Component
from gcm.components.notes import Notes
from gcm.errors import AdlError
from gcm.interfaces.interface import ClientInterface, ServerEnd, ServerInterface
from gcm.interfaces.types import Cardinality, Contingency, InterfaceType
from gcm.membranes.attribute import AttributeController
from gcm.membranes.descriptions import DESCRIPTIONS
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.membrane_controller import MembraneController

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MISSING = object()


def export(component: Component) -> str:
    """Return the ADL document of a live assembly; loaded again, it makes the same one.

    Raises:
        AdlError: something in the assembly has no words in the language, with everything listed.
    """
    return write_definition(describe(component))


def describe(component: Component) -> Definition:
    """Return the definition of a live assembly as it is now.

    Attributes that still have the default of their class are left out. What a client interface of
    `component` itself is bound to lies outside the assembly and is left out too.

    Raises:
        AdlError: something in the assembly has no words in the language, with everything listed.
    """
    description = _Description(component)
    definition = Definition(component.name, body=description.body(component))
    description.check_complete()
    if description.faults:
        raise AdlError(
            f"{component.path} cannot be written as a document: " + "; ".join(description.faults)
        )
    return definition


class _Description:
    """The description of one assembly; `faults` says what has no words in the language."""

    def __init__(self, root: Component) -> None:
        self.faults: dict[str, None] = {}
        self._root = root
        self._homes = Homes(root)
        self._told: set[tuple[ClientInterface, ServerEnd]] = set()
        self._described: list[Component] = []
        self._classes: dict[type[Any], str] = {}
        self._attributes: dict[type[Any], Mapping[str, Any]] = {}
        self._declared: dict[type[Any], Mapping[str, InterfaceType]] = {}

    def body(self, component: Component) -> Body:
        """Describe one component and all that is inside it."""
        self._described.append(component)
        self._check_membrane(component)
        is_composite = isinstance(component, Composite)
        return Body(
            interfaces=tuple(
                [self._interface(component, one) for one in component.type.interfaces]
            ),
            exported_virtual_nodes=_exported_nodes(component.notes),
            components=tuple(self._components(component)),
            bindings=tuple(self._bindings(component)) if is_composite else (),
            content=None
            if is_composite
            else ContentNode(self._class(component, _content(component))),
            attributes=None if is_composite else self._attribute_values(component),
            controller=self._controller(component),
            logger=LoggerNode(component.notes.logger) if component.notes.logger else None,
            virtual_node=_virtual_node(component.notes),
        )

    def check_complete(self) -> None:
        """Note the bindings that no composite of the assembly holds."""
        for component in self._described:
            for client in component.bindables:
                outside = component is self._root and not client.internal
                for server in client.servers:
                    if not outside and (client, server) not in self._told:
                        self._fault(
                            component, f"'{client.name}' is bound to {server.path}, out of reach"
                        )

    def _fault(self, component: Component, what: str) -> None:
        self.faults[f"{component.path}: {what}"] = None

    def _named(self, component: Component, name: Callable[[], str]) -> str:
        try:
            return name()
        except NamelessError as error:
            self._fault(component, str(error))
            return "?"

    def _class(self, component: Component, known: type[Any]) -> str:
        if known not in self._classes:
            self._classes[known] = self._named(component, lambda: class_name(known))
        return self._classes[known]

    # ------------------------------------------------------------------------ content, interfaces

    def _components(self, component: Component) -> Iterator[ComponentNode]:
        """Describe the sub-components; the shared ones that live elsewhere come last."""
        shared = []
        for child in component.children:
            if self._homes.is_home(component, child):
                yield ComponentNode(child.name, body=self.body(child))
            else:
                shared.append(child)
        for child in shared:
            path = self._homes.path(child)
            if not path:
                self._fault(child, "a component inside a membrane cannot be shared in a document")
            yield ComponentNode(child.name, f"./{path}")

    def _interface(self, component: Component, declared: InterfaceType) -> InterfaceNode:
        """Describe an interface; the usual contingency and cardinality are left out."""
        base = self._declarations(component).get(declared.name)
        return InterfaceNode(
            declared.name,
            declared.role.value,
            self._class(component, declared.signature),
            _unless(
                Contingency.MANDATORY, declared.contingency, base.contingency if base else None
            ),
            _unless(
                Cardinality.SINGLETON, declared.cardinality, base.cardinality if base else None
            ),
            ", ".join(self._interceptors(component, declared)),
        )

    def _declarations(self, component: Component) -> Mapping[str, InterfaceType]:
        content = _content(component)
        if isinstance(component, Composite):
            return {}
        if content not in self._declared:
            self._declared[content] = {one.name: one for one in declared_interfaces(content)}
        return self._declared[content]

    def _attribute_values(self, component: Component) -> AttributesNode | None:
        content = component.content
        kind = _content(component)
        if AttributeController.name not in component.membrane:
            return None
        if kind not in self._attributes:
            self._attributes[kind] = declared_attributes(kind)
        values = []
        for name, annotation in self._attributes[kind].items():
            value = getattr(content, name, _MISSING)
            if value is _MISSING or _same(value, getattr(kind, name, _MISSING)):
                continue
            try:
                values.append(AttributeNode(name, escape(written(value, annotation))))
            except ValueFault as fault:
                self._fault(component, f"attribute '{name}': {fault}")
        return AttributesNode("", tuple(values)) if values else None

    # ----------------------------------------------------------------------------------- bindings

    def _bindings(self, component: Component) -> Iterator[BindingNode]:
        assert isinstance(component, Composite)
        for wire in wires_of(component):
            if (wire.client, wire.server) not in self._told:
                self._told.add((wire.client, wire.server))
                yield BindingNode(".".join(wire.client_end), self._server(wire))

    def _server(self, wire: Wire) -> str:
        if wire.server_end is not None:
            return ".".join(wire.server_end)
        reference = wire.server.path
        if not _REMOTE.match(reference):
            self._fault(wire.client.owner, f"'{reference}' is no reference to a remote interface")
        return reference

    # ----------------------------------------------------------------------------------- membrane

    def _controller(self, component: Component) -> ControllerNode | None:
        desc = self._desc(component)
        if MembraneController.name not in component.membrane:
            return ControllerNode(desc) if desc else None
        holder = component.controller(MembraneController)
        parts = parts_of(component)
        node = ControllerNode(
            desc,
            tuple(
                [
                    self._interface(component, server.type.with_name(name))
                    for name, server in holder.exports.items()
                ]
            ),
            tuple([ComponentNode(part.name, body=self.body(part)) for part in parts]),
            tuple(self._membrane_bindings(component, holder, parts)),
        )
        return node if desc or parts or holder.exports else None

    def _membrane_bindings(
        self, component: Component, holder: MembraneController, parts: list[Component]
    ) -> Iterator[BindingNode]:
        for name, exported in holder.exports.items():
            yield BindingNode(f"{THIS}.{name}", _end(component, exported))
        for part in parts:
            for client in part.clients:
                for server in client.servers:
                    if isinstance(server, ServerInterface) and server.owner in (component, *parts):
                        self._told.add((client, server))
                        yield BindingNode(f"{part.name}.{client.name}", _end(component, server))

    def _desc(self, component: Component) -> str:
        """Name the membrane, where it is not the one that a document implies."""
        description = component.membrane.description
        implied = MembraneKind.COMPOSITE if component.children else MembraneKind.PRIMITIVE
        if description is DESCRIPTIONS.get(description.name):
            return "" if description.name == implied else description.name
        return self._named(
            component,
            lambda: object_name(
                description,
                f"the membrane '{description.name}'",
                [controller.__module__ for controller in description.controllers],
            ),
        )

    def _check_membrane(self, component: Component) -> None:
        described = {controller.name for controller in component.membrane.description.controllers}
        for name in sorted(described ^ set(component.membrane)):
            change = "lost" if name in described else "was given"
            self._fault(
                component,
                f"its membrane {change} the controller '{name}' later; "
                "make a MembraneDescription of it",
            )

    def _interceptors(self, component: Component, declared: InterfaceType) -> Iterator[str]:
        if InterceptorController.name not in component.membrane or declared.is_internal:
            return
        for one in component.controller(InterceptorController).acting_on(declared):
            yield self._interceptor(component, one)

    def _interceptor(self, component: Component, interceptor: object) -> str:
        for part in parts_of(component):
            if any(server.stub is interceptor for server in part.servers):
                return part.name
        return self._class(component, type(interceptor))


def _unless(usual: StrEnum, value: StrEnum, declared: StrEnum | None) -> str:
    """Return a word for the document, or nothing where leaving it out means the same."""
    return "" if value is usual and declared in (None, usual) else value.value


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and text_of(value) == text_of(default)


def _content(component: Component) -> type[Any]:
    return type(component.content)


def _end(host: Component, server: ServerInterface) -> str:
    return f"{THIS if server.owner is host else server.owner.name}.{server.name}"


def _virtual_node(notes: Notes) -> VirtualNodeNode | None:
    node = notes.virtual_node
    if node is None:
        return None
    return VirtualNodeNode(node.name, NodeCardinality.MULTIPLE.value if node.multiple else "")


def _exported_nodes(notes: Notes) -> tuple[ExportedVirtualNode, ...]:
    return tuple(
        ExportedVirtualNode(
            exported.name, tuple(ComposingVirtualNode(*part) for part in exported.composed_from)
        )
        for exported in notes.exported_nodes
    )
