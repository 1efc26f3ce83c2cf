"""From a live assembly back to the definition that makes the same one again.

A shared component is described once, at home, and by a path everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gcm.adl.definitions import (
    BindingNode,
    Body,
    CommentNode,
    ComponentNode,
    ComposingVirtualNode,
    ContentNode,
    ControllerNode,
    Definition,
    ExportedVirtualNode,
    LoggerNode,
    TemplateControllerNode,
    VirtualNodeNode,
)
from gcm.adl.membranes.interceptors import fit_interfaces
from gcm.adl.writing.export import write_definition
from gcm.adl.writing.membranes import bindings_of, exports_of, interfaces_of
from gcm.adl.writing.wires import THIS, LiveBinding, wires_of
from gcm.adl.writing.wording import Words
from gcm.components import Notes
from gcm.components.composite import Composite
from gcm.components.controller import Controller
from gcm.components.membrane import control_name
from gcm.components.model import Component
from gcm.errors import AdlError
from gcm.interfaces.interface import ClientInterface, ServerEnd, ServerInterface
from gcm.interfaces.types import InterfaceType
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.membrane_controller import MembraneController

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MISSING = object()


def export(component: Component) -> str:
    """Return the ADL document of a live assembly; loaded again, it makes the same one.

    Raises:
        AdlError: some of the assembly cannot be expressed in the language; all of that is listed.
    """
    return write_definition(describe(component))


def describe(component: Component) -> Definition:
    """Return the definition of a live assembly as it is now.

    Attributes that still have the default of their class are left out. What a client interface of
    `component` itself is bound to lies outside the assembly and is left out too.

    Raises:
        AdlError: some of the assembly cannot be expressed in the language; all of that is listed.
    """
    description = _Description(component)
    definition = Definition(component.name, body=description.body(component))
    faults = description.faults()
    if faults:
        raise AdlError(f"{component.path} cannot be written as a document: " + "; ".join(faults))
    return definition


class _Description:
    """The description of one assembly."""

    def __init__(self, root: Component) -> None:
        self._words = Words()
        self._root = root
        self._homes = Homes(root)
        self._told: set[tuple[ClientInterface, ServerEnd]] = set()
        self._described: list[Component] = []

    def body(self, component: Component) -> Body:
        """Describe one component and all that is inside it."""
        self._described.append(component)
        self._words.check_membrane(component)
        is_composite = isinstance(component, Composite)
        comments = component.notes.comments
        return Body(
            comments=tuple([CommentNode(one.text, one.language) for one in comments]),
            interfaces=tuple(
                [
                    self._words.interface(component, one, self._interceptors(component, one))
                    for one in component.type.interfaces
                ]
            ),
            exported_virtual_nodes=_exported_nodes(component.notes),
            components=tuple(self._components(component)),
            bindings=tuple(self._bindings(component)) if is_composite else (),
            content=None
            if is_composite and component.content is None
            else ContentNode(self._words.class_name(component, component.content_class)),
            attributes=self._words.attributes(component),
            controller=self._controller(component),
            template_controller=self._template(component),
            logger=LoggerNode(component.notes.logger) if component.notes.logger else None,
            virtual_node=_virtual_node(component.notes),
        )

    def faults(self) -> list[str]:
        """Return what cannot be expressed, now that everything has been described."""
        for component in self._described:
            for client in component.bindables:
                outside = component is self._root and not client.internal
                for server in client.servers:
                    if not outside and (client, server) not in self._told:
                        self._words.fault(
                            component, f"'{client.name}' is bound to {server.path}, out of reach"
                        )
        return list(self._words.faults)

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
                self._words.fault(
                    child, "a component inside a membrane cannot be shared in a document"
                )
            yield ComponentNode(child.name, f"./{path}")

    # ----------------------------------------------------------------------------------- bindings

    def _bindings(self, component: Component) -> Iterator[BindingNode]:
        assert isinstance(component, Composite)
        for wire in wires_of(component):
            if (wire.client, wire.server) not in self._told:
                self._told.add((wire.client, wire.server))
                yield BindingNode(".".join(wire.client_end), self._server(wire))
        for client in component.clients if not component.parents else ():
            for server in client.servers:
                if not isinstance(server, ServerInterface):
                    yield BindingNode(f"{THIS}.{client.name}", self._reference(client, server))

    def _server(self, wire: LiveBinding) -> str:
        if wire.server_end is not None:
            return ".".join(wire.server_end)
        return self._reference(wire.client, wire.server)

    def _reference(self, client: ClientInterface, server: ServerEnd) -> str:
        if not _REMOTE.match(server.path):
            self._words.fault(
                client.owner, f"'{server.path}' is not a reference to a remote interface"
            )
        return server.path

    # ----------------------------------------------------------------------------------- membrane

    def _template(self, component: Component) -> TemplateControllerNode | None:
        desc = self._words.template(component)
        return TemplateControllerNode(desc) if desc else None

    def _controller(self, component: Component) -> ControllerNode | None:
        desc = self._words.membrane(component)
        if MembraneController.name not in component.membrane:
            return ControllerNode(desc) if desc else None
        holder = component.controller(MembraneController)
        if component.is_elsewhere and holder.names():
            names = ", ".join(holder.names())
            self._words.fault(component, f"{names} of its membrane are in another process")
        parts = parts_of(component)
        node = ControllerNode(
            desc,
            tuple([self._words.interface(component, one) for one in interfaces_of(holder)]),
            tuple([ComponentNode(part.name, body=self.body(part)) for part in parts]),
            tuple(self._membrane_bindings(component, holder, parts)),
        )
        return node if desc or parts or node.interfaces or node.bindings else None

    def _membrane_bindings(
        self, component: Component, holder: MembraneController, parts: list[Component]
    ) -> Iterator[BindingNode]:
        for client_end, server_end in exports_of(holder, parts):
            yield BindingNode(client_end, server_end)
        for client, server, client_end, end in bindings_of(holder, parts):
            self._told.add((client, server))
            if end is None:
                self._words.fault(
                    component,
                    f"'{client_end}' of the membrane is bound to {server.path}, out of reach",
                )
            yield BindingNode(client_end, end or "?")

    def _interceptors(self, component: Component, declared: InterfaceType) -> Iterator[str]:
        if InterceptorController.name not in component.membrane or declared.is_internal:
            return
        for one in component.controller(InterceptorController).acting_on(declared):
            yield self._interceptor(component, one)

    def _interceptor(self, component: Component, interceptor: object) -> str:
        for part in parts_of(component):
            for server in part.servers:
                if server.stub is interceptor:
                    only = len(fit_interfaces(part.type)) == 1
                    return part.name if only else f"{part.name}.{server.name}"
        if isinstance(interceptor, Controller):
            return f"{THIS}.{control_name(interceptor.name)}"
        return self._words.class_name(component, type(interceptor))


def _virtual_node(notes: Notes) -> VirtualNodeNode | None:
    node = notes.virtual_node
    if node is None:
        return None
    return VirtualNodeNode(node.name, node.cardinality if node.multiple else "")


def _exported_nodes(notes: Notes) -> tuple[ExportedVirtualNode, ...]:
    return tuple(
        ExportedVirtualNode(
            exported.name, tuple(ComposingVirtualNode(*part) for part in exported.composed_from)
        )
        for exported in notes.exported_nodes
    )


class Homes:
    """Finds the home of each component below a root: the first composite there that took it in."""

    def __init__(self, root: Component) -> None:
        self._root = root
        self._inside = _tree(root)

    def is_home(self, parent: Component, child: Component) -> bool:
        """Return whether `child` is described in `parent`."""
        return self._home(child) is parent

    def path(self, component: Component) -> str:
        """Return the path from the root, without it; nothing where the root is not above."""
        names: list[str] = []
        here: Component | None = component
        while here is not None and here is not self._root:
            names.append(here.name)
            here = self._home(here)
        return "/".join(reversed(names)) if here is self._root else ""

    def _home(self, component: Component) -> Composite | None:
        return next((one for one in component.parents if one in self._inside), None)


def parts_of(component: Component) -> list[Component]:
    """Return the non-functional components in the membrane of `component`."""
    if MembraneController.name not in component.membrane:
        return []
    holder = component.controller(MembraneController)
    return [holder.part(name) for name in holder.names()]


def _tree(root: Component) -> frozenset[Component]:
    found: set[Component] = set()
    pending = [root]
    while pending:
        here = pending.pop()
        if here not in found:
            found.add(here)
            pending += here.children
            pending += parts_of(here)
    return frozenset(found)
