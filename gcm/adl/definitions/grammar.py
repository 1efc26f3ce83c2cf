"""The grammar of the ADL as one table, and the check of a document against it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum

from gcm.documents import Diagnostics, Limits, XmlNode, did_you_mean, foreign_document
from gcm.records import dataclass
from gcm.suggestion import nearest

MAX_DEPTH = 64
"""How deep elements of one document, and components of one assembly, may be nested."""

DOCUMENT_LIMITS = Limits(max_depth=MAX_DEPTH)


class Occurs(StrEnum):
    """How often a child element may occur in its parent."""

    ANY = "*"
    OPTIONAL = "?"
    SOME = "+"


@dataclass(frozen=True, slots=True)
class Element:
    """What one element may hold."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: Mapping[str, Occurs] = field(default_factory=dict)
    text: bool = False


_BODY = {
    "comment": Occurs.ANY,
    "interface": Occurs.ANY,
    "exportedVirtualNodes": Occurs.OPTIONAL,
    "component": Occurs.ANY,
    "binding": Occurs.ANY,
    "content": Occurs.OPTIONAL,
    "attributes": Occurs.OPTIONAL,
    "controller": Occurs.OPTIONAL,
    "template-controller": Occurs.OPTIONAL,
    "logger": Occurs.OPTIONAL,
    "virtual-node": Occurs.OPTIONAL,
    "coordinates": Occurs.ANY,
}

# Comments of these elements say nothing about the component, and are dropped.
_COMMENTED = {"comment": Occurs.ANY}

GRAMMAR: Mapping[str, Element] = {
    "definition": Element(("name",), ("arguments", "extends"), _BODY),
    "component": Element(("name",), ("definition",), _BODY),
    "comment": Element((), ("language", "text"), text=True),
    "interface": Element(
        ("name",),
        ("role", "signature", "contingency", "cardinality", "interceptors"),
        _COMMENTED,
    ),
    "binding": Element(("client", "server"), (), _COMMENTED),
    "attributes": Element((), ("signature",), {**_COMMENTED, "attribute": Occurs.ANY}),
    "attribute": Element(("name", "value"), (), _COMMENTED),
    "content": Element(("class",), (), _COMMENTED),
    "controller": Element(
        (),
        ("desc",),
        {
            **_COMMENTED,
            "interface": Occurs.ANY,
            "component": Occurs.ANY,
            "binding": Occurs.ANY,
        },
    ),
    "template-controller": Element(("desc",), (), _COMMENTED),
    "logger": Element(("name",)),
    "virtual-node": Element(("name",), ("cardinality",)),
    "exportedVirtualNodes": Element((), (), {"exportedVirtualNode": Occurs.ANY}),
    "exportedVirtualNode": Element(("name",), (), {"composedFrom": Occurs.SOME}),
    "composedFrom": Element((), (), {"composingVirtualNode": Occurs.SOME}),
    "composingVirtualNode": Element(("component", "name")),
    "coordinates": Element(
        ("name",), ("x0", "y0", "x1", "y1", "color"), {"coordinates": Occurs.ANY}
    ),
}

# Only here an empty text has a meaning; elsewhere a value was forgotten. Files of the Java
# implementation have an empty `desc` where they want the default membrane.
_MAY_BE_EMPTY = frozenset(
    {("attribute", "value"), ("definition", "arguments"), ("controller", "desc")}
)


def conform(root: XmlNode, diagnostics: Diagnostics) -> XmlNode | None:
    """Report every violation of the grammar, and return the rest of the document.

    Elements that are misplaced or lack a required attribute, and unknown attributes, are left out
    of the result, so that later steps need not check for them again. A misspelled name counts as
    what it probably means, so that its absence is not reported too.
    """
    if root.tag != "definition":
        foreign = foreign_document(root.tag)
        diagnostics.report(
            "unexpected-element",
            f"the document is {foreign.kind}, and no ADL document"
            if foreign
            else f"the document is a <{root.tag}>, not a <definition>",
            root.location,
            hint=foreign.hint if foreign else 'an ADL document begins with <definition name="...">',
        )
        return None
    return _conform(root, diagnostics)


def _conform(node: XmlNode, diagnostics: Diagnostics) -> XmlNode | None:
    element = GRAMMAR[node.tag]
    attributes = _known_attributes(node, element, diagnostics)
    if node.text and not element.text:
        diagnostics.report(
            "unexpected-text",
            f"<{node.tag}> holds the text '{_shortened(node.text)}'",
            node.location,
            hint="only elements can stand here; is it a comment? write <!-- ... -->",
        )
    named = _known_children(node, element, diagnostics)
    _check_occurrences(node, named, element, diagnostics)
    complete = _has_required(node, element, attributes, diagnostics)
    conforming = [_conform(child, diagnostics) for child in named]
    children = tuple([child for child in conforming if child is not None])
    if not complete:
        return None
    if _same(children, node.children) and attributes == node.attributes:
        return node
    return replace(node, attributes=attributes, children=children)


def _known_attributes(node: XmlNode, element: Element, diagnostics: Diagnostics) -> dict[str, str]:
    known = (*element.required, *element.optional)
    kept = {name: value for name, value in node.attributes.items() if name in known}
    for name, value in node.attributes.items():
        if name not in known:
            free = [one for one in known if one not in kept]
            diagnostics.report(
                "unknown-xml-attribute",
                f"<{node.tag}> has no attribute '{name}'",
                node.location,
                hint=did_you_mean(name, known) or f"it may have: {', '.join(known) or 'none'}",
            )
            if meant := nearest(name, free):
                kept[meant] = value
    return kept


def _known_children(node: XmlNode, element: Element, diagnostics: Diagnostics) -> list[XmlNode]:
    kept = []
    for child in node.children:
        if child.tag in element.children:
            kept.append(child)
            continue
        diagnostics.report(
            "unexpected-element" if child.tag in GRAMMAR else "unknown-element",
            f"<{child.tag}> cannot stand in <{node.tag}>",
            child.location,
            hint=did_you_mean(child.tag, element.children)
            or f"<{node.tag}> may hold: {', '.join(element.children) or 'nothing'}",
        )
        if child.tag not in GRAMMAR and (meant := nearest(child.tag, element.children)):
            kept.append(replace(child, tag=meant))
    return kept


def _has_required(
    node: XmlNode, element: Element, attributes: Mapping[str, str], diagnostics: Diagnostics
) -> bool:
    complete = True
    for name in (*element.required, *element.optional):
        value = attributes.get(name)
        missing = value is None and name in element.required
        empty = value is not None and not value.strip() and (node.tag, name) not in _MAY_BE_EMPTY
        if missing or empty:
            diagnostics.report(
                "missing-xml-attribute",
                f"<{node.tag}> {'lacks' if missing else 'has an empty'} attribute '{name}'",
                node.location,
                hint=f'write <{node.tag} {name}="...">',
            )
            complete = complete and name not in element.required
    return complete


def _check_occurrences(
    node: XmlNode, children: Sequence[XmlNode], element: Element, diagnostics: Diagnostics
) -> None:
    for tag, occurs in element.children.items():
        if occurs is Occurs.ANY:
            continue
        found = [child for child in children if child.tag == tag]
        if len(found) > 1 and occurs is not Occurs.SOME:
            diagnostics.report(
                "repeated-element",
                f"<{node.tag}> holds {len(found)} <{tag}>, one is allowed",
                found[1].location,
                hint=f"the first one is in line {found[0].location.line}",
            )
        if not found and occurs is not Occurs.OPTIONAL:
            diagnostics.report(
                "missing-element",
                f"<{node.tag}> lacks <{tag}>",
                node.location,
                hint=f"add <{tag}> inside it",
            )


def _same(ones: Sequence[XmlNode], others: Sequence[XmlNode]) -> bool:
    return len(ones) == len(others) and all(map(operator.is_, ones, others))


def _shortened(text: str, width: int = 40) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."
