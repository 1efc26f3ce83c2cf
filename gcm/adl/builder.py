"""Assemblies written in Python: the same model, checks and factory as the XML, in fewer lines.

hello = Assembly("hello")
hello.serves("run", Runnable)
hello.primitive("client", Client)
hello.primitive("server", Server)
hello.bind("this.run", "client.run")
hello.bind("client.greeter", "server.greeter")
app = hello.assemble()
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FrameType
from typing import Any

from gcm.adl.assembling import FindRemote, Make, assemble, make_component
from gcm.adl.check import check
from gcm.adl.classes import ImportingLoader
from gcm.adl.definitions import (
    AttributeNode,
    AttributesNode,
    BindingNode,
    Body,
    ComponentNode,
    ContentNode,
    ControllerNode,
    Definition,
    InterfaceNode,
    VirtualNodeNode,
    escape,
    relative_to_parents,
    report_repeated_components,
)
from gcm.adl.plan import AssemblyPlan, MembraneKind
from gcm.adl.planning import plan_of
from gcm.adl.writing import NamelessError, membrane_name, text_of, write_definition
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.documents import Diagnostics, Location
from gcm.errors import AdlError
from gcm.interfaces.types import Cardinality, Contingency, Role
from gcm.membranes.descriptions import DESCRIPTIONS

_HERE = __file__
_NAMELESS = "membrane:"
"""The prefix of names for membranes that are in no module."""


class Assembly:
    """A composite being described; nothing is checked or made before `plan` or `assemble`."""

    def __init__(
        self,
        name: str,
        *,
        controllers: MembraneDescription | str = "composite",
        node: str = "",
        _classes: dict[str, object] | None = None,
    ) -> None:
        self.name = name
        self._location = _caller()
        self._virtual_node = node
        self._classes: dict[str, object] = {} if _classes is None else _classes
        self._desc = self._membrane(controllers)
        self._interfaces: list[InterfaceNode] = []
        self._parts: list[ComponentNode | Assembly] = []
        self._bindings: list[BindingNode] = []

    def serves(
        self,
        name: str,
        signature: type[Any],
        *,
        cardinality: Cardinality = Cardinality.SINGLETON,
        optional: bool = False,
    ) -> Assembly:
        """Give the composite a server interface."""
        return self._interface(name, signature, Role.SERVER, cardinality, optional)

    def needs(
        self,
        name: str,
        signature: type[Any],
        *,
        cardinality: Cardinality = Cardinality.SINGLETON,
        optional: bool = False,
    ) -> Assembly:
        """Give the composite a client interface."""
        return self._interface(name, signature, Role.CLIENT, cardinality, optional)

    def primitive(
        self,
        name: str,
        content: type[Any],
        *,
        node: str = "",
        controllers: MembraneDescription | str = "primitive",
        **attributes: object,
    ) -> Assembly:
        """Add a passive primitive; its class declares its interfaces and attributes.

        `node` is the virtual node where it wants to be deployed. `controllers` describes the
        membrane or says what `desc` of a `<controller>` says.
        """
        return self._primitive(name, content, self._membrane(controllers), node, attributes)

    def active(
        self, name: str, content: type[Any], *, node: str = "", **attributes: object
    ) -> Assembly:
        """Add an active object, like `primitive` with a request queue and a thread of its own."""
        return self._primitive(name, content, "active", node, attributes)

    def composite(
        self, name: str, *, controllers: MembraneDescription | str = "composite", node: str = ""
    ) -> Assembly:
        """Add a composite and return it, to be filled.

        What is inside and names no virtual node takes turns on the nodes of its `node`.
        """
        inside = Assembly(name, controllers=controllers, node=node, _classes=self._classes)
        self._parts.append(inside)
        return inside

    def share(self, name: str, path: str) -> Assembly:
        """Add the component at `path` (from the root, such as `left/cache`) here too, as `name`."""
        self._parts.append(ComponentNode(name, f"./{path}", location=_caller()))
        return self

    def bind(self, client: str, server: str) -> Assembly:
        """Bind `component.interface` to `component.interface`; `this` is the composite itself."""
        self._bindings.append(BindingNode(client, server, _caller()))
        return self

    def definition(self) -> Definition:
        """Return what was described, as the model of an XML document."""
        node = _escaped(self._node())
        return Definition(self.name, body=node.body, location=self._location)

    def to_xml(self) -> str:
        """Return the XML document that describes the same assembly.

        Raises:
            AdlError: a membrane has no name by which a document could refer to it.
        """
        nameless = [known for name, known in self._classes.items() if name.startswith(_NAMELESS)]
        if nameless:
            names = ", ".join(f"'{getattr(one, 'name', one)}'" for one in nameless)
            raise AdlError(
                f"the assembly '{self.name}' cannot be written as a document: no module holds "
                f"the membranes {names}",
                cure="Give each MembraneDescription a name at the top of a module",
            )
        return write_definition(self.definition())

    def _repr_svg_(self) -> str:
        """Return the picture that a notebook shows."""
        from gcm.adl.picture import scene_of_plan
        from gcm.drawing import draw

        return str(draw(scene_of_plan(self.plan())))

    def plan(self) -> AssemblyPlan:
        """Check everything and return the plan.

        Raises:
            AdlError: with every fault, each at the Python line that caused it.
        """
        diagnostics = Diagnostics()
        node = self._node()
        report_repeated_components(node, diagnostics)
        node = replace(node, body=relative_to_parents(node.body))
        draft = check(node, self._load, diagnostics)
        if diagnostics.errors:
            raise AdlError(
                f"the assembly '{self.name}' has {len(diagnostics.errors)} fault(s)",
                tuple(diagnostics),
            )
        return plan_of(draft)

    def assemble(
        self, *, make: Make = make_component, find_remote: FindRemote | None = None
    ) -> Component:
        """Check everything, make the components and bind them; the root is returned stopped.

        Raises:
            AdlError: with every fault, each at the Python line that caused it.
            InstantiationError: a content class cannot be instantiated.
        """
        return assemble(self.plan(), make=make, find_remote=find_remote)

    # -------------------------------------------------------------------------------- the model

    def _interface(
        self,
        name: str,
        signature: type[Any],
        role: Role,
        cardinality: Cardinality,
        optional: bool,
    ) -> Assembly:
        contingency = Contingency.OPTIONAL if optional else Contingency.MANDATORY
        self._interfaces.append(
            InterfaceNode(
                name,
                role.value,
                self._named(signature),
                contingency.value,
                cardinality.value,
                location=_caller(),
            )
        )
        return self

    def _primitive(
        self, name: str, content: type[Any], kind: str, node: str, attributes: dict[str, object]
    ) -> Assembly:
        where = _caller()
        values = tuple(
            AttributeNode(key, text_of(value), where) for key, value in attributes.items()
        )
        body = Body(
            content=ContentNode(self._named(content), where),
            attributes=AttributesNode("", values, where) if values else None,
            controller=ControllerNode(kind, location=where),
            virtual_node=VirtualNodeNode(node, location=where) if node else None,
        )
        self._parts.append(ComponentNode(name, body=body, location=where))
        return self

    def _node(self) -> ComponentNode:
        parts = tuple(part._node() if isinstance(part, Assembly) else part for part in self._parts)
        body = Body(
            interfaces=tuple(self._interfaces),
            components=parts,
            bindings=tuple(self._bindings),
            controller=ControllerNode(self._desc, location=self._location),
            virtual_node=VirtualNodeNode(self._virtual_node, location=self._location)
            if self._virtual_node
            else None,
        )
        return ComponentNode(self.name, body=body, location=self._location)

    def _named(self, known: type[Any]) -> str:
        """Return the dotted name of a class, and remember the class: it need not be importable."""
        if not isinstance(known, type):
            raise AdlError(
                f"{_caller()}: {known!r} is not a class",
                cure="Pass the class itself, neither its name nor one of its objects",
            )
        name = f"{known.__module__}:{known.__qualname__}"
        self._classes[name] = known
        return name

    def _membrane(self, controllers: MembraneDescription | str) -> str:
        """Return what a document says of a membrane; a description is remembered by its name."""
        if isinstance(controllers, str):
            return controllers
        if not isinstance(controllers, MembraneDescription):
            raise AdlError(
                f"{_caller()}: {controllers!r} does not describe a membrane",
                cure="Pass a MembraneDescription, such as gcm.PRIMITIVE.including(MyController)",
            )
        if controllers.name in list(MembraneKind) and DESCRIPTIONS[controllers.name] is controllers:
            return controllers.name
        try:
            name = membrane_name(controllers)
        except NamelessError:
            name = f"{_NAMELESS}{len(self._classes)}"
        self._classes[name] = controllers
        return name

    def _load(self, dotted: str) -> object:
        if dotted in self._classes:
            return self._classes[dotted]
        return ImportingLoader()(dotted)


def _escaped(node: ComponentNode) -> ComponentNode:
    """Return the component with every `${` in its attribute values written as plain text."""
    body = node.body
    values = body.attributes
    if values is not None:
        texts = tuple(replace(one, value=escape(one.value)) for one in values.attributes)
        values = replace(values, attributes=texts)
    components = tuple(map(_escaped, body.components))
    return replace(node, body=replace(body, attributes=values, components=components))


def _caller() -> Location:
    """Return the line of the program that called this module."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename == _HERE:
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno) if frame else Location("", 0)
