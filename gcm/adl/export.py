"""Writes a definition of the model as a readable ADL document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from gcm.adl.model import (
    AttributesNode,
    BindingNode,
    Body,
    CommentNode,
    ComponentNode,
    ControllerNode,
    CoordinatesNode,
    Definition,
    ExportedVirtualNode,
    InterfaceNode,
)

_INDENT = "  "
# Blanks that a reader of XML would turn into spaces.
_KEPT_BLANKS = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


@dataclass(frozen=True, slots=True)
class _Element:
    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[_Element, ...] = ()
    text: str = ""


def write_definition(definition: Definition) -> str:
    """Return the document; reading it gives the same definition, but for the locations."""
    root = _element(
        "definition",
        (
            ("name", definition.name),
            ("arguments", definition.arguments),
            ("extends", definition.extends),
        ),
        _body(definition.body),
    )
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(_lines(root, "")) + "\n"


def _element(
    tag: str, attributes: Iterable[tuple[str, str]], children: Iterable[_Element] = ()
) -> _Element:
    written = tuple((name, value) for name, value in attributes if value)
    return _Element(tag, written, tuple(children))


def _body(body: Body) -> Iterator[_Element]:
    yield from map(_comment, body.comments)
    yield from map(_interface, body.interfaces)
    if body.exported_virtual_nodes:
        nodes = map(_exported, body.exported_virtual_nodes)
        yield _element("exportedVirtualNodes", (), nodes)
    yield from map(_component, body.components)
    yield from map(_binding, body.bindings)
    if body.content:
        yield _element("content", [("class", body.content.class_name)])
    if body.attributes:
        yield _attributes(body.attributes)
    if body.controller:
        yield _controller(body.controller)
    if body.logger:
        yield _element("logger", [("name", body.logger.name)])
    if body.virtual_node:
        node = body.virtual_node
        yield _element("virtual-node", [("name", node.name), ("cardinality", node.cardinality)])
    yield from map(_coordinates, body.coordinates)


def _component(component: ComponentNode) -> _Element:
    attributes = [("name", component.name), ("definition", component.definition)]
    return _element("component", attributes, _body(component.body))


def _comment(comment: CommentNode) -> _Element:
    attributes = (("language", comment.language),) if comment.language else ()
    return _Element("comment", attributes, text=comment.text)


def _interface(interface: InterfaceNode) -> _Element:
    names = ("name", "role", "signature", "contingency", "cardinality", "interceptors")
    return _element("interface", [(name, getattr(interface, name)) for name in names])


def _binding(binding: BindingNode) -> _Element:
    return _element("binding", [("client", binding.client), ("server", binding.server)])


def _attributes(attributes: AttributesNode) -> _Element:
    values = [
        # An empty value says something, so it is written.
        _Element("attribute", (("name", one.name), ("value", one.value)))
        for one in attributes.attributes
    ]
    return _element("attributes", [("signature", attributes.signature)], values)


def _controller(controller: ControllerNode) -> _Element:
    children = (
        *map(_interface, controller.interfaces),
        *map(_component, controller.components),
        *map(_binding, controller.bindings),
    )
    return _element("controller", [("desc", controller.desc)], children)


def _exported(exported: ExportedVirtualNode) -> _Element:
    parts = [
        _element("composingVirtualNode", [("component", part.component), ("name", part.name)])
        for part in exported.composed_from
    ]
    composed = _element("composedFrom", (), parts)
    return _element("exportedVirtualNode", [("name", exported.name)], [composed])


def _coordinates(coordinates: CoordinatesNode) -> _Element:
    return _element("coordinates", coordinates.attributes, map(_coordinates, coordinates.children))


def _lines(element: _Element, indent: str) -> list[str]:
    attributes = "".join(
        f" {name}={quoteattr(value, _KEPT_BLANKS)}" for name, value in element.attributes
    )
    opening = f"{indent}<{element.tag}{attributes}"
    if element.text:
        return [f"{opening}>{escape(element.text)}</{element.tag}>"]
    if not element.children:
        return [f"{opening}/>"]
    lines = [f"{opening}>"]
    for child in element.children:
        lines += _lines(child, indent + _INDENT)
    return [*lines, f"{indent}</{element.tag}>"]
