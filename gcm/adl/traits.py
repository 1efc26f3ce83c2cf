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
from gcm.adl.membranes.controller_files import ControllerFiles, is_default, names_file
from gcm.adl.membranes.interceptors import read_interceptors
from gcm.adl.plan import MembraneKind, NodeCardinality, VirtualNodePlan
from gcm.adl.structure import is_missing, stands_in_for
from gcm.components import (
    GIVE_DEFAULTS,
    MembraneDescription,
    declared_interfaces,
    needed_arguments,
)
from gcm.documents import Location, Severity, did_you_mean
from gcm.errors import IllegalTypeError, InstantiationError
from gcm.factory import described, made_by_template
from gcm.interfaces import ComponentType, InterfaceType, content_mismatches
from gcm.records import dataclass


@dataclass(slots=True)
class TraitsReader:
    """Reads traits, once for each body, however many components have it."""

    findings: Findings
    load_class: LoadClass
    folders: Sequence[Path] = ()
    _known: dict[int, tuple[Body, Traits]] = field(default_factory=dict)
    _files: ControllerFiles = field(init=False)
    _mismatches: dict[tuple[type, type, bool], tuple[str, ...]] = field(default_factory=dict)
    _declared: dict[type, tuple[InterfaceType, ...]] = field(default_factory=dict)
    _needed: dict[type, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read controller files with the same classes and findings."""
        self._files = ControllerFiles(self.findings, self.load_class, self.folders)

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

    def membrane_of_file(
        self, desc: str, kind: MembraneKind, location: Location, path: str
    ) -> MembraneDescription | None:
        """Return the membrane that a controller file describes; None where that was reported."""
        return self._files.describe(desc, described(kind.value), location, path)

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
        kind, description = self._membrane()
        self._check_parametric(kind, description)
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
            virtual_node=self._virtual_node(),
            broken=frozenset(types.broken),
            broken_collections=tuple(types.broken_collections),
            is_abstract=self._is_abstract,
            is_template=self._is_template(kind),
            incomplete=self._incomplete,
        )

    def _attributes(self, content: type[Any] | None) -> tuple[tuple[str, object], ...]:
        node = self._body.attributes
        unread = content is None and self._body.content is not None
        is_known = content is None or not stands_in_for(content)
        if unread or self._is_abstract or (self._incomplete and is_known):
            return ()
        return read_attributes(node, content, self._load_class, self._findings, self._path)

    # ---------------------------------------------------------------------------- membrane, content

    def _membrane(self) -> tuple[MembraneKind, object]:
        implied = self._implied()
        controller = self._body.controller
        desc = controller.desc if controller else ""
        if controller is None or not desc:
            return implied, None
        if desc in list(MembraneKind):
            return self._filled(MembraneKind(desc)), None
        if names_file(desc):
            if is_default(desc):
                return implied, described(implied.value)
            return implied, self._reader.membrane_of_file(
                desc, implied, controller.location, self._path
            )
        if "." in desc or ":" in desc:
            return implied, self._description(desc, controller.location)
        if (named := _kind_named(desc)) is not None:
            return self._filled(named), None
        words = [str(kind) for kind in MembraneKind]
        hint = did_you_mean(desc, words) or f"write {', '.join(words)} or a dotted Python name"
        self._report(
            "unknown-controller", f"there is no membrane '{desc}'", controller.location, hint
        )
        return implied, None

    def _implied(self) -> MembraneKind:
        """Return the membrane of a component that names none."""
        template = self._body.template_controller
        named = _kind_named(made_by_template(template.desc)) if template else None
        usual = MembraneKind.COMPOSITE if self._body.components else MembraneKind.PRIMITIVE
        return self._filled(usual if named is None else named)

    def _filled(self, kind: MembraneKind) -> MembraneKind:
        """Return the kind with attributes for a composite with a content, which holds them."""
        if kind is MembraneKind.COMPOSITE and self._body.content is not None:
            return MembraneKind.PARAMETRIC_COMPOSITE
        return kind

    def _check_parametric(self, kind: MembraneKind, description: object) -> None:
        """Report a composite whose own membrane cannot show the attributes that its content has."""
        content = self._body.content
        if content is None or kind is not MembraneKind.PARAMETRIC_COMPOSITE:
            return
        known = getattr(description, "controllers", None)
        if known is not None and not any(one.name == "attribute" for one in known):
            message = f"the membrane of composite '{self._node.name}' has no attribute controller"
            hint = (
                "the content of a composite holds attributes: use .including(AttributeController)"
            )
            self._report("content-in-composite", message, content.location, hint)

    def _is_template(self, kind: MembraneKind) -> bool:
        template = self._body.template_controller
        if template is None:
            return False
        named = _kind_named(made_by_template(template.desc))
        if named is None or named.is_composite != kind.is_composite:
            words = _COMPOSITE_TEMPLATES if kind.is_composite else _PRIMITIVE_TEMPLATES
            hint = did_you_mean(template.desc, words) or f"write {' or '.join(words)}"
            message = f"'{template.desc}' is no template of a component such as '{self._node.name}'"
            self._report("unknown-controller", message, template.location, hint)
        return True

    def _description(self, dotted: str, location: Location) -> object:
        found = self._load(dotted, location)
        if found is None or isinstance(found, MembraneDescription):
            return found
        hint = "name a gcm.MembraneDescription at the top of a module"
        self._report("not-a-membrane", f"'{dotted}' does not describe a membrane", location, hint)
        return None

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
        """Tell whether the document itself, and no content class, declares the interfaces."""
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
            self._report("content-mismatch", message, where, "write or mend these methods")

    def _virtual_node(self) -> VirtualNodePlan | None:
        node = self._body.virtual_node
        if node is None:
            return None
        words = [str(one) for one in NodeCardinality]
        if node.cardinality and node.cardinality not in words:
            hint = did_you_mean(node.cardinality, words) or f"write {' or '.join(words)}"
            message = f"'{node.cardinality}' is no cardinality of a virtual node"
            self._report("unknown-cardinality", message, node.location, hint)
            return None
        return VirtualNodePlan(node.name, NodeCardinality(node.cardinality or words[0]))

    # ---------------------------------------------------------------------------------- helpers

    def _load(self, dotted: str, location: Location) -> object:
        try:
            return self._load_class(dotted)
        except ClassFault as fault:
            self._findings.report(
                fault.code,
                fault.message,
                location,
                self._path,
                hint=fault.hint,
                detail=fault.detail,
            )
            return None

    def _report(self, code: str, message: str, location: Location, hint: str) -> None:
        self._findings.report(code, message, location, self._path, hint=hint)


_PRIMITIVE_TEMPLATES = ("primitiveTemplate", "parametricPrimitiveTemplate")
_COMPOSITE_TEMPLATES = ("compositeTemplate", "parametricCompositeTemplate")


def _kind_named(desc: str) -> MembraneKind | None:
    """Return the kind of a ready-made membrane, by its own name or one that Fractal has for it."""
    try:
        return MembraneKind(described(desc).name)
    except InstantiationError:
        return None
