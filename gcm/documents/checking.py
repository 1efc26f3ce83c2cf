"""Checks a document against the table of its language, and reports every fault at once."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from gcm.documents.diagnostics import Diagnostics
from gcm.documents.foreign import ForeignDocument, foreign_document
from gcm.documents.language import Attribute, ChildRule, ElementType, Grammar, ValueFault
from gcm.documents.location import Location
from gcm.documents.reader import XmlNode
from gcm.suggestion import did_you_mean, nearest


class DocumentCheck:
    """The check of documents in one language; a language with other words overrides the messages.

    What does not fit is left out of the result, so that later steps need not check for it again.
    """

    understands_misspelled = True
    """A misspelled name counts as what it probably means; so its absence is not reported too."""

    leaves_out_incomplete = True
    """An element that lacks a required attribute is left out as well."""

    ignored: Collection[str] = frozenset()
    """Attributes that any element may have and that say nothing."""

    def __init__(self, grammar: Grammar, diagnostics: Diagnostics) -> None:
        self.grammar = grammar
        self.diagnostics = diagnostics

    def document(self, root: XmlNode) -> XmlNode | None:
        """Return what is right of a document; None for one of another kind, or without a root."""
        if root.tag == self.grammar.root:
            return self._element(root)
        self.wrong_root(root, foreign_document(root.tag))
        return None

    def _element(self, node: XmlNode) -> XmlNode | None:
        element = self.grammar.elements[node.tag]
        if node.text and not element.text:
            self.stray_text(node)
        attributes, is_complete = self._attributes(node, element)
        named = self._named(node, element)
        self._count(node, named, element)
        children = [one for one in map(self._element, named) if one is not None]
        if not is_complete and self.leaves_out_incomplete:
            return None
        if attributes == node.attributes and _same(children, node.children):
            return node
        written = len(node.attributes.keys() - self.ignored)
        left_out = len(attributes) < written or len(children) < len(node.children)
        return replace(node, attributes=attributes, children=tuple(children), incomplete=left_out)

    def _attributes(self, node: XmlNode, element: ElementType) -> tuple[dict[str, str], bool]:
        """Return the attributes without fault, and whether all that are required were written."""
        rows = {one.name: one for one in element.attributes}
        written = {one for one in node.attributes if one in rows}
        kept: dict[str, str] = {}
        for name, text in node.attributes.items():
            row = rows.get(name)
            if row is None and name not in self.ignored:
                self.unknown_attribute(node, name, element)
                free = [one for one in rows if one not in written]
                meant = nearest(name, free) if self.understands_misspelled else ""
                row = rows.get(meant)
            if row is None:
                continue
            written.add(row.name)
            right = self._value(node, row, text, element)
            if right is not None:
                kept[row.name] = right
        is_complete = True
        for row in element.attributes:
            if row.required and row.name not in written:
                self.missing_attribute(node, row)
            is_complete &= not row.required or row.name in kept
        return kept, is_complete

    def _value(
        self, node: XmlNode, row: Attribute, written: str, element: ElementType
    ) -> str | None:
        """Return the text of an attribute; None for one with a fault, which is reported."""
        text = self.expanded(row, written, node.location)
        if text is None:
            return None
        if not text.strip() and row.needs_text:
            self.empty_attribute(node, row, text)
            return None
        fault = row.kind.fault(row, text, element)
        if fault is not None:
            self.faulty_value(node, row, text, fault)
            return None
        return text if self.has_room(row, text, node.location) else None

    def _named(self, node: XmlNode, element: ElementType) -> list[XmlNode]:
        """Return the children that the element may have, each under the name that it means."""
        kept = []
        names = [one.name for one in element.children]
        for child in node.children:
            if child.tag in names:
                kept.append(child)
                continue
            self.unknown_element(child, element)
            may_mean = self.understands_misspelled and child.tag not in self.grammar.elements
            if may_mean and (meant := nearest(child.tag, names)):
                kept.append(replace(child, tag=meant))
        return kept

    def _count(self, node: XmlNode, named: Sequence[XmlNode], element: ElementType) -> None:
        counts = Counter(child.tag for child in named)
        for rule in element.children:
            count = counts[rule.name]
            if count < rule.least:
                self.missing_element(node, rule, count)
            if rule.most is not None and count > rule.most:
                self.repeated_element(node, rule, [one for one in named if one.tag == rule.name])

    # ---------------------------------------------------------------- what a language may change

    def expanded(self, _row: Attribute, written: str, _location: Location) -> str | None:
        """Return the text that a written one stands for; None after reporting why there is none."""
        return written

    def has_room(self, _row: Attribute, _text: str, _location: Location) -> bool:
        """Return whether a document may still hold what a text stands for."""
        return True

    def wrong_root(self, root: XmlNode, foreign: ForeignDocument | None) -> None:
        """Report a document of another kind."""
        raise NotImplementedError

    def stray_text(self, node: XmlNode) -> None:
        """Report text where only elements can be."""
        self.diagnostics.report(
            "unexpected-text",
            f"<{node.tag}> holds the text '{_shortened(node.text)}'",
            node.location,
            hint="only elements can stand here; is it a comment? write <!-- ... -->",
        )

    def unknown_attribute(self, node: XmlNode, name: str, element: ElementType) -> None:
        """Report an attribute that the element does not have."""
        known = [one.name for one in element.attributes]
        self.diagnostics.report(
            "unknown-xml-attribute",
            f"<{node.tag}> has no attribute '{name}'",
            node.location,
            hint=did_you_mean(name, known) or f"it may have: {', '.join(known) or 'none'}",
        )

    def missing_attribute(self, node: XmlNode, row: Attribute) -> None:
        """Report a required attribute that is not written."""
        self._lacking(node, row, "lacks")

    def empty_attribute(self, node: XmlNode, row: Attribute, _text: str) -> None:
        """Report a blank value where one was forgotten."""
        self._lacking(node, row, "has an empty")

    def _lacking(self, node: XmlNode, row: Attribute, what: str) -> None:
        self.diagnostics.report(
            "missing-xml-attribute",
            f"<{node.tag}> {what} attribute '{row.name}'",
            node.location,
            hint=f'write <{node.tag} {row.name}="...">',
        )

    def faulty_value(self, node: XmlNode, row: Attribute, text: str, fault: ValueFault) -> None:
        """Report a value that does not fit the kind of its attribute."""
        message = f'{row.name}="{text}" of <{node.tag}> {fault.message}'
        self.diagnostics.report(fault.code, message, node.location, hint=fault.hint)

    def unknown_element(self, child: XmlNode, element: ElementType) -> None:
        """Report an element in the wrong place, or one that the language does not have."""
        allowed = [one.name for one in element.children]
        inside = ", ".join(allowed) or ("text" if element.text else "nothing")
        is_known = child.tag in self.grammar.elements
        self.diagnostics.report(
            "unexpected-element" if is_known else "unknown-element",
            f"<{child.tag}> cannot stand in <{element.name}>",
            child.location,
            hint=did_you_mean(child.tag, allowed) or f"<{element.name}> may hold: {inside}",
        )

    def missing_element(self, node: XmlNode, rule: ChildRule, _count: int) -> None:
        """Report that too few elements of one type are in another."""
        self.diagnostics.report(
            "missing-element",
            f"<{node.tag}> lacks <{rule.name}>",
            node.location,
            hint=f"add <{rule.name}> inside it",
        )

    def repeated_element(self, node: XmlNode, rule: ChildRule, found: Sequence[XmlNode]) -> None:
        """Report that too many elements of one type are in another."""
        self.diagnostics.report(
            "repeated-element",
            f"<{node.tag}> holds {len(found)} <{rule.name}>, one is allowed",
            found[1].location,
            hint=f"the first one is in line {found[0].location.line}",
        )


def _same(ones: Sequence[XmlNode], others: Sequence[XmlNode]) -> bool:
    return len(ones) == len(others) and all(map(operator.is_, ones, others))


def _shortened(text: str, width: int = 40) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."
