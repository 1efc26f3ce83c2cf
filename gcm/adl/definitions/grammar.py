"""The grammar of the ADL as one table: the checks of a document and its records come from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from gcm.adl.definitions.model import (
    EMPTY_BODY,
    AttributeNode,
    AttributesNode,
    BindingNode,
    Body,
    CommentNode,
    ComponentNode,
    ComposingVirtualNode,
    ContentNode,
    ControllerNode,
    CoordinatesNode,
    Definition,
    ExportedVirtualNode,
    InterfaceNode,
    LoggerNode,
    TemplateControllerNode,
    VirtualNodeNode,
)
from gcm.documents import (
    FILLED,
    TEXT,
    Attribute,
    ChildRule,
    Diagnostics,
    DocumentCheck,
    ElementType,
    ForeignDocument,
    Grammar,
    Limits,
    Location,
    ValueKind,
    XmlNode,
    read_document,
)

MAX_DEPTH = 64
"""How deep elements of one document, and components of one assembly, may be nested."""

DOCUMENT_LIMITS = Limits(max_depth=MAX_DEPTH)


def read_definition(
    source: str | os.PathLike[str] | bytes, *, name: str | None = None, diagnostics: Diagnostics
) -> XmlNode | None:
    """Read one document into nodes that conform to the grammar; faults go to `diagnostics`."""
    root = read_document(source, name=name, diagnostics=diagnostics, limits=DOCUMENT_LIMITS)
    return None if root is None else _AdlCheck(GRAMMAR, diagnostics).document(root)


def definition_of(node: XmlNode) -> Definition:
    """Return the model of a conforming `<definition>`."""
    definition: Definition = GRAMMAR.checked(node).record()
    return definition


class _AdlCheck(DocumentCheck):
    def wrong_root(self, root: XmlNode, foreign: ForeignDocument | None) -> None:
        self.diagnostics.report(
            "unexpected-element",
            f"the document is {foreign.kind}, and no ADL document"
            if foreign
            else f"the document is a <{root.tag}>, not a <definition>",
            root.location,
            hint=foreign.hint if foreign else 'an ADL document begins with <definition name="...">',
        )


def _definition(
    name: str, arguments: str, extends: str, location: Location, **inside: Any
) -> Definition:
    return Definition(name, arguments, extends, _body(inside), location)


def _component(name: str, definition: str, location: Location, **inside: Any) -> ComponentNode:
    return ComponentNode(name, definition, _body(inside), location)


def _body(inside: Mapping[str, Any]) -> Body:
    return Body(**inside) if inside else EMPTY_BODY


def _comment(text: str, language: str, between: str, location: Location) -> CommentNode:
    return CommentNode(" ".join(filter(None, (text, between))), language, location)


def _exported(
    name: str,
    location: Location,
    composed_from: Iterable[Iterable[ComposingVirtualNode]] = (),
) -> ExportedVirtualNode:
    return ExportedVirtualNode(name, tuple(chain.from_iterable(composed_from)), location)


def _coordinates(
    location: Location, children: tuple[CoordinatesNode, ...] = (), **written: str
) -> CoordinatesNode:
    return CoordinatesNode(tuple((n, t) for n, t in written.items() if t), children, location)


def _parts(parts: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return what an element holds that says nothing itself."""
    return parts


def _row(name: str, kind: ValueKind = FILLED, **more: Any) -> Attribute:
    return Attribute(name, kind, **more)


_NAME = _row("name", required=True)
_DESC = _row("desc", TEXT)  # files of the Java implementation have "" for the default membrane
_SIGNATURE = _row("signature")
_COMMENT = ChildRule("comment")
"""What a comment says of an element that is no component is dropped."""

_BODY = (
    ChildRule("comment", field="comments"),
    ChildRule("interface", field="interfaces"),
    ChildRule("exportedVirtualNodes", most=1, field="exported_virtual_nodes"),
    ChildRule("component", field="components"),
    ChildRule("binding", field="bindings"),
    ChildRule("content", most=1, field="content"),
    ChildRule("attributes", most=1, field="attributes"),
    ChildRule("controller", most=1, field="controller"),
    ChildRule("template-controller", most=1, field="template_controller"),
    ChildRule("logger", most=1, field="logger"),
    ChildRule("virtual-node", most=1, field="virtual_node"),
    ChildRule("coordinates", field="coordinates"),
)

_ELEMENTS = (
    ElementType(
        "definition",
        attributes=(_NAME, _row("arguments", TEXT), _row("extends")),
        children=_BODY,
        record=_definition,
    ),
    ElementType(
        "component", attributes=(_NAME, _row("definition")), children=_BODY, record=_component
    ),
    ElementType(
        "comment", attributes=(_row("language"), _row("text")), record=_comment, text="between"
    ),
    ElementType(
        "interface",
        attributes=(
            _NAME,
            _row("role"),
            _SIGNATURE,
            _row("contingency"),
            _row("cardinality"),
            _row("interceptors"),
            _row("wait-for-all"),
            _row("timeout"),
            _row("when-left"),
        ),
        children=(_COMMENT,),
        record=InterfaceNode,
    ),
    ElementType(
        "binding",
        attributes=(_row("client", required=True), _row("server", required=True)),
        children=(_COMMENT,),
        record=BindingNode,
    ),
    ElementType(
        "attributes",
        attributes=(_SIGNATURE,),
        children=(_COMMENT, ChildRule("attribute", field="attributes")),
        record=AttributesNode,
    ),
    ElementType(
        "attribute",
        attributes=(_NAME, _row("value", TEXT, required=True, blank=True)),
        children=(_COMMENT,),
        record=AttributeNode,
    ),
    ElementType(
        "content",
        attributes=(_row("class", required=True, field="class_name"),),
        children=(_COMMENT,),
        record=ContentNode,
    ),
    ElementType(
        "controller",
        attributes=(_DESC,),
        children=(
            _COMMENT,
            ChildRule("interface", field="interfaces"),
            ChildRule("component", field="components"),
            ChildRule("binding", field="bindings"),
        ),
        record=ControllerNode,
    ),
    ElementType(
        "template-controller",
        attributes=(_row("desc", required=True),),
        children=(_COMMENT,),
        record=TemplateControllerNode,
    ),
    ElementType("logger", attributes=(_NAME,), record=LoggerNode),
    ElementType("virtual-node", attributes=(_NAME, _row("cardinality")), record=VirtualNodeNode),
    ElementType(
        "exportedVirtualNodes",
        children=(ChildRule("exportedVirtualNode", field="parts"),),
        record=_parts,
        located=False,
    ),
    ElementType(
        "exportedVirtualNode",
        attributes=(_NAME,),
        children=(ChildRule("composedFrom", least=1, field="composed_from"),),
        record=_exported,
    ),
    ElementType(
        "composedFrom",
        children=(ChildRule("composingVirtualNode", least=1, field="parts"),),
        record=_parts,
        located=False,
    ),
    ElementType(
        "composingVirtualNode",
        attributes=(_row("component", required=True), _NAME),
        record=ComposingVirtualNode,
    ),
    ElementType(
        "coordinates",
        attributes=(_NAME, *map(_row, ("x0", "y0", "x1", "y1", "color"))),
        children=(ChildRule("coordinates", field="children"),),
        record=_coordinates,
    ),
)

GRAMMAR = Grammar.of("definition", _ELEMENTS)
"""The language of ADL documents."""
