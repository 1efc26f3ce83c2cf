"""Interface types, from the document and the content class together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, TypeVar

from gcm.adl.classes import ClassFault, LoadClass
from gcm.adl.definitions import InterfaceNode
from gcm.adl.findings import Findings
from gcm.adl.structure import is_missing
from gcm.documents import Location, did_you_mean
from gcm.errors import IllegalTypeError
from gcm.interfaces import (
    Cardinality,
    ComponentType,
    Contingency,
    InterfaceType,
    Role,
    signature_of,
)
from gcm.records import dataclass

E = TypeVar("E", bound=StrEnum)


@dataclass(slots=True)
class TypeReader:
    """Makes the interface types of one component; faults go to `findings`.

    `broken` collects the names of interfaces that could not be made, `broken_collections` the
    prefixes of collections that could not; `incomplete` means that there may be others, because the
    content class could not be read. `may_be_declared` means that there is a content class that
    cannot be read and may declare what an interface lacks.
    """

    findings: Findings
    load_class: LoadClass
    declared: Callable[[type[Any]], Sequence[InterfaceType]]
    path: str
    may_be_declared: bool = False
    broken: set[str] = field(default_factory=set)
    broken_collections: set[str] = field(default_factory=set)
    incomplete: bool = False

    def read(
        self, nodes: Sequence[InterfaceNode], content: type[Any] | None, location: Location
    ) -> ComponentType:
        """Return the type of a component: what the document says, completed by the content."""
        declared = self._declared(content, location)
        types = [self._interface(node, declared.get(node.name)) for node in nodes]
        named = {node.name for node in nodes}
        found = [one for one in types if one is not None]
        found += [one for name, one in declared.items() if name not in named]
        try:
            return ComponentType(tuple(found))
        except IllegalTypeError as error:
            self.findings.report("illegal-type", error.what, location, self.path, hint=error.cure)
            for one in found:
                self._break(one.name, one.cardinality)
            return ComponentType()

    def _declared(
        self, content: type[Any] | None, location: Location
    ) -> Mapping[str, InterfaceType]:
        if content is None:
            return {}
        try:
            return {one.name: one for one in self.declared(content)}
        except Exception as error:  # annotations are user code and may raise anything
            hint = error.cure if isinstance(error, IllegalTypeError) else ""
            what = error.what if isinstance(error, IllegalTypeError) else str(error)
            message = f"what the class '{content.__qualname__}' declares cannot be read: {what}"
            self.incomplete = True
            self.findings.report("illegal-declaration", message, location, self.path, hint=hint)
            return {}

    def _interface(self, node: InterfaceNode, base: InterfaceType | None) -> InterfaceType | None:
        role = self._word(node, "role", Role, base.role if base else None)
        contingency = self._word(
            node, "contingency", Contingency, base.contingency if base else Contingency.MANDATORY
        )
        cardinality = self._word(
            node, "cardinality", Cardinality, base.cardinality if base else Cardinality.SINGLETON
        )
        signature = self._signature(node, base)
        if role is None or contingency is None or cardinality is None or signature is None:
            self._break(node.name, cardinality)
            return None
        try:
            return InterfaceType(node.name, signature, role, contingency, cardinality)
        except IllegalTypeError as error:
            self._report("illegal-type", error.what, node, error.cure)
            self._break(node.name, cardinality)
            return None

    def _break(self, name: str, cardinality: Cardinality | None) -> None:
        self.broken.add(name)
        if cardinality is Cardinality.COLLECTION:
            self.broken_collections.add(name)

    def _word(self, node: InterfaceNode, name: str, kind: type[E], default: E | None) -> E | None:
        """Return the value of an attribute with a closed set of values."""
        written: str = getattr(node, name)
        words = [str(one) for one in kind]
        listed = f"write one of: {', '.join(words)}"
        if written in words:
            return kind(written)
        if written:
            message = f"'{written}' is no {name} of an interface"
            self._report(f"unknown-{name}", message, node, did_you_mean(written, words) or listed)
            return None
        if default is None and not self.may_be_declared:
            self._report(f"missing-{name}", f"interface '{node.name}' has no {name}", node, listed)
        return default

    def _signature(self, node: InterfaceNode, base: InterfaceType | None) -> type[Any] | None:
        if not node.signature:
            if base is None and not self.may_be_declared:
                hint = 'write signature="module.Protocol", or declare it in the content class'
                message = f"interface '{node.name}' has no signature"
                self._report("missing-signature", message, node, hint)
            return base.signature if base else None
        try:
            found = self.load_class(node.signature)
        except ClassFault as fault:
            if self.findings.missing is not None and is_missing(fault.code):
                return self.findings.missing.stand_in(node.signature)
            self.findings.class_fault(fault, node.location, self.path)
            return None
        return self._checked(found, node)

    def _checked(self, found: object, node: InterfaceNode) -> type[Any] | None:
        if not isinstance(found, type):
            message = f"the signature '{node.signature}' is not a class"
            self._report("not-a-class", message, node, "name a typing.Protocol or an ABC")
            return None
        try:
            signature_of(found)
        except IllegalTypeError as error:
            self._report("illegal-signature", error.what, node, error.cure)
            return None
        return found

    def _report(self, code: str, message: str, node: InterfaceNode, hint: str) -> None:
        self.findings.report(code, message, node.location, self.path, hint=hint)
