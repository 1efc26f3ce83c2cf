"""Writes a definition of the model as a readable ADL document: the rows of the grammar reversed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lxml import etree

from gcm.adl.definitions import CommentNode, ComponentNode, CoordinatesNode, Definition
from gcm.adl.definitions.grammar import GRAMMAR
from gcm.documents import ChildRule

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_HOLDERS = ("exportedVirtualNodes", "composedFrom")
"""The elements that only hold others, and whose record is a tuple of theirs."""


def write_definition(definition: Definition) -> str:
    """Return the document; reading it gives the same definition, but for the locations."""
    root = _written("definition", definition)
    etree.indent(root)
    return f"{_DECLARATION}\n{etree.tostring(root, encoding='unicode')}\n"


def _written(tag: str, record: Any) -> etree._Element:
    grammar = GRAMMAR.elements[tag]
    rows = {one.name: getattr(record, one.field, "") for one in grammar.attributes}
    text = None
    if isinstance(record, CommentNode):
        rows["text"], text = "", record.text
    elif isinstance(record, CoordinatesNode):
        rows = dict(record.attributes)
    # An empty value of an <attribute> says something, so it is written.
    blank = [one.name for one in grammar.attributes if one.blank]
    element = etree.Element(tag, {name: one for name, one in rows.items() if one or name in blank})
    element.text = text
    inside = record.body if isinstance(record, Definition | ComponentNode) else record
    for rule in grammar.children:
        element.extend(_written(rule.name, one) for one in _held(inside, rule))
    return element


def _held(record: Any, rule: ChildRule) -> Iterable[Any]:
    """Return the records in the elements of one type."""
    if isinstance(record, tuple):
        return record
    found = getattr(record, rule.field) if rule.field else ()
    if rule.name in _HOLDERS:
        return [found] if found or rule.least else []
    if isinstance(found, tuple):
        return found
    return [] if found is None else [found]
