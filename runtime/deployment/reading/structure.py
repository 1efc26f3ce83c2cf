"""Checks a document against the grammar table and replaces its variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gcm.documents import Diagnostics, Location, XmlNode, did_you_mean, foreign_document
from gcm.records import dataclass
from runtime.deployment.extent import MachineAmount
from runtime.deployment.hosts import expand_hosts, expand_names
from runtime.deployment.language.grammar import Attribute, ElementType, Grammar, ValueKind
from runtime.deployment.reading.values import list_size, split_words, value_fault
from runtime.deployment.variables import Variables
from runtime.shown_text import shown

_SECONDS = {"": 1, "s": 1, "min": 60, "h": 3600}

# how an editor is told where the schema is
_FOR_EDITORS = frozenset({"xmlns:xsi", "xsi:noNamespaceSchemaLocation"})


@dataclass(frozen=True, slots=True)
class CheckedElement:
    """One element of a checked document: attributes hold only values that fit their kinds.

    `children` are those of each element type, in order. `incomplete` means that faulty parts were
    left out, so what is missing may have been intended.
    """

    type: ElementType
    attributes: Mapping[str, str]
    children: Mapping[str, Sequence[CheckedElement]]
    location: Location
    incomplete: bool = False

    def has(self, name: str) -> bool:
        """Return whether an attribute was written with a valid value."""
        return name in self.attributes

    def text(self, name: str) -> str:
        """Return the value of an attribute, or its default."""
        if name in self.attributes:
            return self.attributes[name]
        attribute = self.type.attribute(name)
        return attribute.default if attribute else ""

    def number(self, name: str) -> int | None:
        """Return a number, or None when there is neither a value nor a default."""
        text = self.text(name)
        return int(text) if text else None

    def seconds(self, name: str) -> float:
        """Return a duration in seconds, 0 when there is none."""
        text = self.text(name).strip()
        number = text.rstrip("sminh")
        return float(number) * _SECONDS[text[len(number) :]] if text else 0.0

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a command line."""
        return split_words(self.text(name))

    def hosts(self, name: str) -> tuple[str, ...]:
        """Return the hosts of a list with ranges."""
        text = self.text(name)
        return expand_hosts(text) if text else ()

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names of a list with ranges."""
        text = self.text(name)
        return expand_names(text) if text else ()

    def each(self, tag: str) -> Sequence[CheckedElement]:
        """Return the children of one element type, in order."""
        return self.children.get(tag, ())

    def only(self, tag: str) -> CheckedElement | None:
        """Return the first child of one element type, or None."""
        return next(iter(self.each(tag)), None)


@dataclass(frozen=True, slots=True)
class _Checking:
    grammar: Grammar
    variables: Variables
    diagnostics: Diagnostics

    def entry(self, node: XmlNode, element: ElementType) -> CheckedElement:
        if node.text.strip():
            self.diagnostics.report(
                "unexpected-text",
                f"<{node.tag}> has text between its tags, which means nothing here",
                node.location,
                hint="values are written as attributes",
            )
        attributes = self._attributes(node, element)
        children: dict[str, list[CheckedElement]] = {}
        for child in node.children:
            if element.child(child.tag) is None:
                self._unknown_element(child, element)
            else:
                found = self.entry(child, self.grammar.elements[child.tag])
                children.setdefault(child.tag, []).append(found)
        self._counts(node, element)
        written = len(node.attributes.keys() - _FOR_EDITORS)
        kept = sum(map(len, children.values()))
        left_out = len(attributes) < written or kept < len(node.children)
        return CheckedElement(element, attributes, children, node.location, left_out)

    def _attributes(self, node: XmlNode, element: ElementType) -> dict[str, str]:
        accepted: dict[str, str] = {}
        for name, written in node.attributes.items():
            attribute = element.attribute(name)
            if attribute is None:
                if name not in _FOR_EDITORS:
                    self._unknown_attribute(name, node, element)
                continue
            value: str | None = written
            if attribute.kind is not ValueKind.RAW:
                value = self.variables.expand(written, node.location)
            if value is None:
                continue
            fault = value_fault(attribute, value, element)
            if fault is None:
                if self._has_room(attribute, value, node):
                    accepted[name] = value
            else:
                self.diagnostics.report(
                    fault.code,
                    f'{name}="{shown(value)}" of <{node.tag}> {fault.message}',
                    node.location,
                    hint=fault.hint,
                )
        for attribute in element.attributes:
            if attribute.required and attribute.name not in node.attributes:
                self.diagnostics.report(
                    "missing-attribute",
                    f"<{node.tag}> needs the attribute '{attribute.name}'",
                    node.location,
                    hint=attribute.meaning,
                )
        return accepted

    def _has_room(self, attribute: Attribute, value: str, node: XmlNode) -> bool:
        """Return whether the names of a list, with those of lists before it, are not too many."""
        if attribute.kind not in (ValueKind.LIST, ValueKind.HOSTS):
            return True
        count = list_size(attribute.kind, value)
        return self.variables.extent.grow(MachineAmount.PARTS, count, node.location)

    def _unknown_attribute(self, name: str, node: XmlNode, element: ElementType) -> None:
        known = [found.name for found in element.attributes]
        self.diagnostics.report(
            "unknown-attribute",
            f"<{node.tag}> has no attribute '{name}'",
            node.location,
            hint=did_you_mean(name, known) or _listing("its attributes", known),
        )

    def _unknown_element(self, child: XmlNode, element: ElementType) -> None:
        allowed = [found.name for found in element.children]
        hint = did_you_mean(child.tag, allowed) or _listing("it takes", allowed)
        if child.tag in self.grammar.elements:
            parents = [
                f"<{found.name}>"
                for found in self.grammar.elements.values()
                if found.child(child.tag) is not None
            ]
            hint = f"it belongs into {' or '.join(parents)}" if parents else "it is the root"
        self.diagnostics.report(
            "unknown-element",
            f"<{element.name}> takes no <{child.tag}>",
            child.location,
            hint=hint,
        )

    def _counts(self, node: XmlNode, element: ElementType) -> None:
        counts = Counter(child.tag for child in node.children)
        for child in element.children:
            if counts[child.name] < child.least:
                self.diagnostics.report(
                    "missing-element",
                    f"<{node.tag}> has {counts[child.name]} <{child.name}>, "
                    f"it needs at least {child.least}",
                    node.location,
                    hint=self.grammar.elements[child.name].meaning,
                )
            if child.most is not None and counts[child.name] > child.most:
                self.diagnostics.report(
                    "repeated-element",
                    f"<{node.tag}> has {counts[child.name]} <{child.name}>, "
                    f"it takes at most {child.most}",
                    node.location,
                )


def check_structure(
    root: XmlNode, grammar: Grammar, variables: Variables, diagnostics: Diagnostics
) -> CheckedElement | None:
    """Return the checked form of a document; None when it has another root.

    Reports unknown, missing and repeated elements and attributes, and values that do not fit their
    kind. Faulty parts are left out of the result, so that later checks can continue.
    """
    if root.tag != grammar.root:
        foreign = foreign_document(root.tag)
        diagnostics.report(
            "wrong-root",
            f"the document is {foreign.kind}, and no descriptor of gcm-deploy"
            if foreign
            else f"the root element is <{root.tag}>, a descriptor begins with <{grammar.root}>",
            root.location,
            hint=foreign.hint if foreign else "",
        )
        return None
    return _Checking(grammar, variables, diagnostics).entry(root, grammar.elements[root.tag])


def _listing(intro: str, names: list[str]) -> str:
    return f"{intro}: {', '.join(names)}" if names else f"{intro}: none"
