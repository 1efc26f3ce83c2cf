"""What follows from a component's body alone: its classes, types, attributes and membrane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from gcm.adl.attributes import read_attributes
from gcm.adl.classes import ClassFault, LoadClass
from gcm.adl.definitions import Body, ComponentNode, ContentNode
from gcm.adl.drafts import Traits
from gcm.adl.findings import Findings
from gcm.adl.interface_types import TypeReader
from gcm.adl.membranes.controller_files import ControllerFiles
from gcm.adl.membranes.interceptors import read_interceptors
from gcm.adl.membranes.kinds import MembraneReader
from gcm.adl.plan import MembraneKind
from gcm.adl.rounds import read_rounds
from gcm.adl.structure import is_missing, stands_in_for
from gcm.components import (
    GIVE_DEFAULTS,
    MULTIPLE,
    SINGLE,
    VirtualNodeNote,
    declared_interfaces,
    needed_arguments,
)
from gcm.documents import Location, Severity, did_you_mean
from gcm.errors import IllegalTypeError
from gcm.interfaces import ComponentType, InterfaceType, content_mismatches
from gcm.records import dataclass


@dataclass(slots=True)
class TraitsReader:
    """Reads traits, once for each body, however many components have it."""

    findings: Findings
    load_class: LoadClass
    folders: Sequence[Path] = ()
    _known: dict[int, tuple[Body, Traits]] = field(default_factory=dict)
    files: ControllerFiles = field(init=False)
    _mismatches: dict[tuple[type, type, bool], tuple[str, ...]] = field(default_factory=dict)
    _declared: dict[type, tuple[InterfaceType, ...]] = field(default_factory=dict)
    _needed: dict[type, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read controller files with the same classes and findings."""
        self.files = ControllerFiles(self.findings, self.load_class, self.folders)

    def read(self, node: ComponentNode, path: str) -> Traits:
        """Return the traits of a component that is not a reference to a shared one."""
        # The body is kept with its traits, so that its id stays its own.
        if id(node.body) not in self._known:
            self._known[id(node.body)] = node.body, _Reading(self, node, path).read()
        return self._known[id(node.body)][1]

    def mismatches(
        self, content: type[Any], signature: type[Any], gathercast: bool
    ) -> tuple[str, ...]:
        """Return why a class cannot serve a signature; compared once for each pair."""
        key = content, signature, gathercast
        if key not in self._mismatches:
            try:
                found = content_mismatches(content, signature, gathercast=gathercast)
                self._mismatches[key] = tuple(map(str, found))
            except IllegalTypeError as error:
                self._mismatches[key] = (error.what,)
        return self._mismatches[key]

    def needed(self, content: type[Any]) -> str:
        """Return the arguments that a class cannot be made without; asked once for each class."""
        if content not in self._needed:
            self._needed[content] = ", ".join(needed_arguments(content))
        return self._needed[content]

    def declared(self, content: type[Any]) -> tuple[InterfaceType, ...]:
        """Return what a class declares; read once for each class. Raises what its code raises."""
        if content not in self._declared:
            self._declared[content] = declared_interfaces(content)
        return self._declared[content]

    def type_reader(self, path: str) -> TypeReader:
        """Return a reader of the interface types of the component at `path`."""
        return TypeReader(self.findings, self.load_class, self.declared, path)

    def read_membrane(self, node: ComponentNode, path: str) -> Traits:
        """Return the traits of the assembly inside a membrane."""
        reader = self.type_reader(path)
        component_type = reader.read(node.body.interfaces, None, node.location)
        return Traits(component_type, broken=frozenset(reader.broken))


class _Reading:
    """The reading of one body."""

    def __init__(self, reader: TraitsReader, node: ComponentNode, path: str) -> None:
        self._reader = reader
        self._findings = reader.findings
        self._load_class = reader.load_class
        self._node = node
        self._body = node.body
        self._path = path
        self._incomplete = False
        self._is_abstract = False

    def read(self) -> Traits:
        membrane = MembraneReader(
            self._node, self._path, self._findings, self._load, self._reader.files
        )
        kind, description = membrane.read()
        content = self._content(kind)
        is_known = content is not None and not stands_in_for(content)
        types = self._reader.type_reader(self._path)
        types.may_be_declared = content is not None and not is_known
        where = self._body.content.location if self._body.content else self._node.location
        component_type = types.read(
            self._body.interfaces,
            content if is_known and not kind.is_composite else None,
            where,
        )
        self._incomplete = self._incomplete or types.incomplete
        if not kind.is_composite and not self._is_abstract:
            self._check_primitive(component_type, content if is_known else None)
        return Traits(
            component_type=component_type,
            kind=kind,
            description=description,
            content=content,
            attributes=self._attributes(content),
            interceptors=tuple(
                read_interceptors(self._body, self._load_class, self._findings, self._path)
            ),
            rounds=tuple(read_rounds(self._body, component_type, self._findings, self._path)),
            virtual_node=self._virtual_node(),
            broken=frozenset(types.broken),
            broken_collections=tuple(types.broken_collections),
            is_abstract=self._is_abstract,
            is_template=membrane.is_template(kind),
            incomplete=self._incomplete,
        )

    def _attributes(self, content: type[Any] | None) -> tuple[tuple[str, object], ...]:
        node = self._body.attributes
        unread = content is None and self._body.content is not None
        is_known = content is None or not stands_in_for(content)
        if unread or self._is_abstract or (self._incomplete and is_known):
            return ()
        return read_attributes(node, content, self._load_class, self._findings, self._path)

    # ---------------------------------------------------------------------------------- content

    def _content(self, kind: MembraneKind) -> type[Any] | None:
        content = self._body.content
        if kind.is_composite:
            return None if content is None else self._class_of(content)
        if self._body.components:
            hint = "move the sub-components into a composite, or remove the <content>"
            message = f"primitive '{self._node.name}' cannot have sub-components"
            self._report("components-in-primitive", message, self._node.location, hint)
        if content is None:
            self._is_abstract = not self._body.components
            self._incomplete = not self._says_all()
            return None
        found = self._class_of(content)
        self._incomplete = found is None or bool(stands_in_for(found) and not self._says_all())
        return found

    def _says_all(self) -> bool:
        """Return whether the document itself, and no content class, declares the interfaces."""
        interfaces = self._body.interfaces
        return bool(interfaces) and all(one.role and one.signature for one in interfaces)

    def _class_of(self, content: ContentNode) -> type[Any] | None:
        found = self._load(content.class_name, content.location)
        missing = self._findings.missing
        if found is None and missing is not None and self._is_not_there(content.class_name):
            return missing.stand_in(content.class_name)
        if found is not None and not isinstance(found, type):
            message = f"the content '{content.class_name}' is not a class"
            self._report("not-a-class", message, content.location, "name a class")
        if isinstance(found, type):
            self._check_makeable(found, content.location)
        return found if isinstance(found, type) else None

    def _is_not_there(self, dotted: str) -> bool:
        try:
            self._load_class(dotted)
        except ClassFault as fault:
            return is_missing(fault.code)
        return False

    def _check_makeable(self, content: type[Any], location: Location) -> None:
        needed = self._reader.needed(content)
        if needed:
            # A warning: who assembles with a `make` of their own may have these arguments.
            self._findings.report(
                "content-arguments",
                f"the class '{content.__qualname__}' cannot be made without {needed}",
                location,
                self._path,
                hint=GIVE_DEFAULTS,
                severity=Severity.WARNING,
            )

    # ------------------------------------------------------------------------------- interfaces

    def _check_primitive(self, component_type: ComponentType, content: type[Any] | None) -> None:
        places = {one.name: one.location for one in self._body.interfaces}
        where = self._body.content.location if self._body.content else self._node.location
        for interface in component_type.interfaces:
            place = places.get(interface.name, where)
            name = f"interface '{interface.name}'"
            if interface.is_internal:
                hint = "only a composite has an inner face; write client or server"
                message = f"{name} of a primitive cannot be {interface.role}"
                self._report("composite-only", message, place, hint)
            elif interface.is_server and interface.is_multicast:
                hint = "make it multicast at the client, or put a composite around the component"
                message = f"server {name} of a primitive cannot be multicast"
                self._report("composite-only", message, place, hint)
            elif interface.is_client and interface.is_gathercast:
                hint = "make it gathercast at the server, or put a composite around the component"
                message = f"client {name} of a primitive cannot be gathercast"
                self._report("composite-only", message, place, hint)
            elif interface.is_server and content and not stands_in_for(interface.signature):
                self._check_content(
                    content, interface.name, interface.signature, interface.is_gathercast
                )

    def _check_content(
        self, content: type[Any], name: str, signature: type[Any], gathercast: bool
    ) -> None:
        where = self._body.content.location if self._body.content else self._node.location
        found = self._reader.mismatches(content, signature, gathercast)
        if found:
            message = (
                f"the class '{content.__qualname__}' cannot serve interface '{name}'"
                f" ({signature.__qualname__}): {'; '.join(found)}"
            )
            self._report("content-mismatch", message, where, "write or fix these methods")

    def _virtual_node(self) -> VirtualNodeNote | None:
        node = self._body.virtual_node
        if node is None:
            return None
        words = (SINGLE, MULTIPLE)
        if node.cardinality and node.cardinality not in words:
            hint = did_you_mean(node.cardinality, words) or f"write {' or '.join(words)}"
            message = f"'{node.cardinality}' is not a cardinality of a virtual node"
            self._report("unknown-cardinality", message, node.location, hint)
            return None
        return VirtualNodeNote(node.name, node.cardinality == MULTIPLE)

    # ---------------------------------------------------------------------------------- helpers

    def _load(self, dotted: str, location: Location) -> object:
        try:
            return self._load_class(dotted)
        except ClassFault as fault:
            self._findings.class_fault(fault, location, self._path)
            return None

    def _report(self, code: str, message: str, location: Location, hint: str) -> None:
        self._findings.report(code, message, location, self._path, hint=hint)
