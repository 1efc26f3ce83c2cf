"""From the nodes of a conforming document to the typed model."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gcm.adl.definitions.grammar import DOCUMENT_LIMITS, conform
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
from gcm.documents import Diagnostics, XmlNode, read_document


def read_definition(
    source: str | os.PathLike[str] | bytes, *, name: str | None = None, diagnostics: Diagnostics
) -> XmlNode | None:
    """Read one document into nodes that conform to the grammar; faults go to `diagnostics`."""
    root = read_document(source, name=name, diagnostics=diagnostics, limits=DOCUMENT_LIMITS)
    return None if root is None else conform(root, diagnostics)


def definition_of(node: XmlNode) -> Definition:
    """Return the model of a conforming `<definition>`."""
    at = node.attributes
    return Definition(
        at["name"], at.get("arguments", ""), at.get("extends", ""), _body(node), node.location
    )


def _component(node: XmlNode) -> ComponentNode:
    at = node.attributes
    return ComponentNode(at["name"], at.get("definition", ""), _body(node), node.location)


def _body(node: XmlNode) -> Body:
    if not node.children:
        return EMPTY_BODY
    by_tag: dict[str, list[XmlNode]] = {}
    for child in node.children:
        by_tag.setdefault(child.tag, []).append(child)

    def first(tag: str) -> XmlNode | None:
        return by_tag[tag][0] if tag in by_tag else None

    content, attributes, controller, template, logger, virtual_node, exported = (
        first(tag)
        for tag in (
            "content",
            "attributes",
            "controller",
            "template-controller",
            "logger",
            "virtual-node",
            "exportedVirtualNodes",
        )
    )
    return Body(
        comments=tuple(map(_comment, by_tag.get("comment", ()))),
        interfaces=tuple(map(_interface, by_tag.get("interface", ()))),
        exported_virtual_nodes=tuple(map(_exported, exported.children)) if exported else (),
        components=tuple(map(_component, by_tag.get("component", ()))),
        bindings=tuple(map(_binding, by_tag.get("binding", ()))),
        content=ContentNode(content.attributes["class"], content.location) if content else None,
        attributes=_attributes(attributes) if attributes else None,
        controller=_controller(controller) if controller else None,
        template_controller=(
            TemplateControllerNode(template.attributes["desc"], template.location)
            if template
            else None
        ),
        logger=LoggerNode(logger.attributes["name"], logger.location) if logger else None,
        virtual_node=_virtual_node(virtual_node) if virtual_node else None,
        coordinates=tuple(map(_coordinates, by_tag.get("coordinates", ()))),
    )


def _comment(node: XmlNode) -> CommentNode:
    text = " ".join(filter(None, (node.attributes.get("text", ""), node.text)))
    return CommentNode(text, node.attributes.get("language", ""), node.location)


def _interface(node: XmlNode) -> InterfaceNode:
    at = node.attributes
    return InterfaceNode(
        at["name"],
        at.get("role", ""),
        at.get("signature", ""),
        at.get("contingency", ""),
        at.get("cardinality", ""),
        at.get("interceptors", ""),
        node.location,
    )


def _binding(node: XmlNode) -> BindingNode:
    return BindingNode(node.attributes["client"], node.attributes["server"], node.location)


def _attributes(node: XmlNode) -> AttributesNode:
    values = tuple(
        AttributeNode(child.attributes["name"], child.attributes["value"], child.location)
        for child in _tagged(node, "attribute")
    )
    return AttributesNode(node.attributes.get("signature", ""), values, node.location)


def _controller(node: XmlNode) -> ControllerNode:
    return ControllerNode(
        node.attributes.get("desc", ""),
        tuple(map(_interface, _tagged(node, "interface"))),
        tuple(map(_component, _tagged(node, "component"))),
        tuple(map(_binding, _tagged(node, "binding"))),
        node.location,
    )


def _virtual_node(node: XmlNode) -> VirtualNodeNode:
    at = node.attributes
    return VirtualNodeNode(at["name"], at.get("cardinality", ""), node.location)


def _exported(node: XmlNode) -> ExportedVirtualNode:
    composed = tuple(
        ComposingVirtualNode(part.attributes["component"], part.attributes["name"], part.location)
        for composition in node.children
        for part in composition.children
    )
    return ExportedVirtualNode(node.attributes["name"], composed, node.location)


def _coordinates(node: XmlNode) -> CoordinatesNode:
    return CoordinatesNode(
        tuple(node.attributes.items()), tuple(map(_coordinates, node.children)), node.location
    )


def _tagged(node: XmlNode, tag: str) -> Iterator[XmlNode]:
    return (child for child in node.children if child.tag == tag)
