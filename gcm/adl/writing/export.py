"""Writes a definition of the model as a readable ADL document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lxml import etree

from gcm.adl.definitions import (
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

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'


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
    etree.indent(root)
    return f"{_DECLARATION}\n{etree.tostring(root, encoding='unicode')}\n"


def _element(
    tag: str, attributes: Iterable[tuple[str, str]], children: Iterable[etree.etree._Element] = ()
) -> etree._Element:
    element = etree.Element(tag, {name: value for name, value in attributes if value})
    element.extend(children)
    return element


def _body(body: Body) -> Iterator[etree._Element]:
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
    if body.template_controller:
        yield _element("template-controller", [("desc", body.template_controller.desc)])
    if body.logger:
        yield _element("logger", [("name", body.logger.name)])
    if body.virtual_node:
        node = body.virtual_node
        yield _element("virtual-node", [("name", node.name), ("cardinality", node.cardinality)])
    yield from map(_coordinates, body.coordinates)


def _component(component: ComponentNode) -> etree._Element:
    attributes = [("name", component.name), ("definition", component.definition)]
    return _element("component", attributes, _body(component.body))


def _comment(comment: CommentNode) -> etree._Element:
    element = _element("comment", [("language", comment.language)])
    element.text = comment.text
    return element


def _interface(interface: InterfaceNode) -> etree._Element:
    names = ("name", "role", "signature", "contingency", "cardinality", "interceptors")
    return _element("interface", [(name, getattr(interface, name)) for name in names])


def _binding(binding: BindingNode) -> etree._Element:
    return _element("binding", [("client", binding.client), ("server", binding.server)])


def _attributes(attributes: AttributesNode) -> etree._Element:
    values = [
        # An empty value says something, so it is written.
        etree.Element("attribute", {"name": one.name, "value": one.value})
        for one in attributes.attributes
    ]
    return _element("attributes", [("signature", attributes.signature)], values)


def _controller(controller: ControllerNode) -> etree._Element:
    children = (
        *map(_interface, controller.interfaces),
        *map(_component, controller.components),
        *map(_binding, controller.bindings),
    )
    return _element("controller", [("desc", controller.desc)], children)


def _exported(exported: ExportedVirtualNode) -> etree._Element:
    parts = [
        _element("composingVirtualNode", [("component", part.component), ("name", part.name)])
        for part in exported.composed_from
    ]
    composed = _element("composedFrom", (), parts)
    return _element("exportedVirtualNode", [("name", exported.name)], [composed])


def _coordinates(coordinates: CoordinatesNode) -> etree._Element:
    return _element("coordinates", coordinates.attributes, map(_coordinates, coordinates.children))
