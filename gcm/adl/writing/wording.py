"""Describes one live component in the language, and reports what the language cannot express.

Values of attributes become the texts of `<attribute>` elements: the inverse of `gcm.adl.values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, StrEnum
from typing import Any

from gcm.adl.definitions import AttributeNode, AttributesNode, InterfaceNode, escape, quoted
from gcm.adl.plan import MembraneKind
from gcm.adl.rounds import written_rounds
from gcm.adl.values import AdlValueFault, convert
from gcm.adl.writing.naming import NamelessError, class_name, membrane_name
from gcm.components.composite import Composite
from gcm.components.declarations import declared_attributes, declared_interfaces
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.interfaces.collective.gathering import AS_USUAL
from gcm.interfaces.types import Cardinality, Contingency, InterfaceType
from gcm.membranes.attribute import AttributeController
from gcm.membranes.collective import GathercastController
from gcm.membranes.descriptions import DESCRIPTIONS, TEMPLATE_SUFFIX
from gcm.membranes.factory import FactoryController

_MISSING = object()


class Words:
    """Describes components, and collects in `faults` what cannot be expressed."""

    def __init__(self) -> None:
        self.faults: dict[str, None] = {}
        self._classes: dict[type[Any], str] = {}
        self._attributes: dict[type[Any], Mapping[str, Any]] = {}
        self._declared: dict[type[Any], Mapping[str, InterfaceType]] = {}

    def fault(self, component: Component, what: str) -> None:
        """Record something that cannot be expressed, once."""
        self.faults[f"{component.path}: {what}"] = None

    def class_name(self, component: Component, known: type[Any]) -> str:
        """Return the name of a class that `component` needs."""
        if known not in self._classes:
            self._classes[known] = self._named(component, lambda: class_name(known))
        return self._classes[known]

    def interface(
        self, component: Component, declared: InterfaceType, interceptors: Iterable[str] = ()
    ) -> InterfaceNode:
        """Describe an interface; the usual contingency and cardinality are left out."""
        base = self._declarations(component).get(declared.name)
        return InterfaceNode(
            declared.name,
            declared.role.value,
            self.class_name(component, declared.signature),
            _unless(
                Contingency.MANDATORY, declared.contingency, base.contingency if base else None
            ),
            _unless(
                Cardinality.SINGLETON, declared.cardinality, base.cardinality if base else None
            ),
            ", ".join(interceptors),
            *self._rounds(component, declared),
        )

    def _rounds(self, component: Component, declared: InterfaceType) -> tuple[str, str, str]:
        gathers = declared.is_gathercast and declared.is_server
        if not gathers or GathercastController.name not in component.membrane:
            return written_rounds(AS_USUAL)
        controller = component.controller(GathercastController)
        return written_rounds(controller.settings(declared.name))

    def attributes(self, component: Component) -> AttributesNode | None:
        """Describe the attributes that do not have the default of their class."""
        content = component.content
        kind = component.content_class
        if AttributeController.name not in component.membrane:
            return None
        if kind not in self._attributes:
            self._attributes[kind] = declared_attributes(kind)
        values = []
        for name, annotation in self._attributes[kind].items():
            value = (
                component.controller(AttributeController).get(name)
                if component.is_elsewhere
                else getattr(content, name, _MISSING)
            )
            if value is _MISSING or _same(value, getattr(kind, name, _MISSING)):
                continue
            try:
                values.append(AttributeNode(name, escape(written(value, annotation))))
            except AdlValueFault as fault:
                self.fault(component, f"attribute '{name}': {fault}")
        return AttributesNode("", tuple(values)) if values else None

    def membrane(self, component: Component) -> str:
        """Name the membrane, where it is not the one that a document implies."""
        description = instances_of(component)
        implied = MembraneKind.COMPOSITE if component.children else MembraneKind.PRIMITIVE
        if description is DESCRIPTIONS.get(description.name):
            return "" if description.name == implied else description.name
        return self._named(component, lambda: membrane_name(description))

    def template(self, component: Component) -> str:
        """Name the kind of template that the component is, or nothing where it is none."""
        if FactoryController.name not in component.membrane:
            return ""
        name = instances_of(component).name
        if name not in DESCRIPTIONS:
            composite = isinstance(component, Composite)
            name = MembraneKind.COMPOSITE if composite else MembraneKind.PRIMITIVE
        return f"{name}{TEMPLATE_SUFFIX}"

    def check_membrane(self, component: Component) -> None:
        """Record controllers that were added or removed since the component was made."""
        if component.is_elsewhere:  # its own membrane is out of reach here
            return
        described = {controller.name for controller in component.membrane.description.controllers}
        for name in sorted(described ^ set(component.membrane)):
            change = "lost" if name in described else "was given"
            self.fault(
                component,
                f"its membrane {change} the controller '{name}' later; "
                "make a MembraneDescription of it",
            )

    def _declarations(self, component: Component) -> Mapping[str, InterfaceType]:
        content = component.content_class
        if isinstance(component, Composite):
            return {}
        if content not in self._declared:
            self._declared[content] = {one.name: one for one in declared_interfaces(content)}
        return self._declared[content]

    def _named(self, component: Component, name: Callable[[], str]) -> str:
        try:
            return name()
        except NamelessError as error:
            self.fault(component, str(error))
            return "?"


def instances_of(component: Component) -> MembraneDescription:
    """Return the membrane of a component, or of the instances of a template."""
    if FactoryController.name in component.membrane:
        made = component.controller(FactoryController).controllers()
        return component.membrane.description if made is None else made
    return component.membrane.description


def _unless(usual: StrEnum, value: StrEnum, declared: StrEnum | None) -> str:
    """Return a word for the document, or nothing where leaving it out means the same."""
    return "" if value is usual and declared in (None, usual) else value.value


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and text_of(value) == text_of(default)


_NEEDS_QUOTES = frozenset(",'\"()[]{}")


def written(value: object, annotation: Any) -> str:
    """Return a text that `convert` reads as `value`.

    Raises:
        ValueFault: there is none.

    >>> written([1, 2], list[int])
    '1, 2'
    """
    text = text_of(value)
    read = convert(text, annotation)
    # Two values that are not a number are never equal, but look the same.
    if type(read) is not type(value) or (read != value and repr(read) != repr(value)):
        raise AdlValueFault(
            f"{value!r} cannot be written in a document: '{text}' is read as {read!r}"
        )
    return text


def text_of(value: object) -> str:
    """Return the text that stands for a value, whether or not it can be read back."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, set | frozenset):
        return _listed(sorted(map(text_of, value)))
    if isinstance(value, list | tuple):
        return _listed(map(text_of, value))
    return str(value)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(_element, texts))


def _element(text: str) -> str:
    plain = text and text == text.strip() and _NEEDS_QUOTES.isdisjoint(text)
    return text if plain else quoted(text)
