"""What an ADL document says, as values: one class per element, every text still as written."""

from __future__ import annotations

from dataclasses import field

from gcm.documents import Location
from gcm.records import dataclass

NOWHERE = Location("", 0)


LOCAL = "null"
"""What an exported virtual node is composed of where the component stays in this process."""


@dataclass(frozen=True, slots=True)
class CommentNode:
    """`<comment>`: text for people."""

    text: str
    language: str = ""
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class InterfaceNode:
    """`<interface>`; an empty text means that the attribute was left out."""

    name: str
    role: str = ""
    signature: str = ""
    contingency: str = ""
    cardinality: str = ""
    interceptors: str = ""
    wait_for_all: str = ""
    timeout: str = ""
    when_left: str = ""
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class BindingNode:
    """`<binding>`: both ends as `component.interface`, or a remote reference as the server."""

    client: str
    server: str
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class AttributeNode:
    """`<attribute>`: a value for the content."""

    name: str
    value: str
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class AttributesNode:
    """`<attributes>`: the values, and optionally the class whose annotations type them."""

    signature: str = ""
    attributes: tuple[AttributeNode, ...] = ()
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class ContentNode:
    """`<content>`: the class behind a primitive, or the one that holds a composite's attributes."""

    class_name: str
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """`<controller>`: the kind of membrane, and the non-functional assembly inside it."""

    desc: str = ""
    interfaces: tuple[InterfaceNode, ...] = ()
    components: tuple[ComponentNode, ...] = ()
    bindings: tuple[BindingNode, ...] = ()
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class TemplateControllerNode:
    """`<template-controller>`: the kind of template that makes such components."""

    desc: str
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class LoggerNode:
    """`<logger>`: the name of the component's logger."""

    name: str
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class VirtualNodeNode:
    """`<virtual-node>`: where a component wants to be deployed."""

    name: str
    cardinality: str = ""
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class ComposingVirtualNode:
    """`<composingVirtualNode>`: a virtual node of a sub-component."""

    component: str
    name: str
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class ExportedVirtualNode:
    """`<exportedVirtualNode>`: a virtual node made of those of the sub-components."""

    name: str
    composed_from: tuple[ComposingVirtualNode, ...] = ()
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class CoordinatesNode:
    """`<coordinates>`: where a drawing tool put a component, as its attributes say."""

    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[CoordinatesNode, ...] = ()
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class Body:
    """What definitions and components have in common: everything that can be merged."""

    comments: tuple[CommentNode, ...] = ()
    interfaces: tuple[InterfaceNode, ...] = ()
    exported_virtual_nodes: tuple[ExportedVirtualNode, ...] = ()
    components: tuple[ComponentNode, ...] = ()
    bindings: tuple[BindingNode, ...] = ()
    content: ContentNode | None = None
    attributes: AttributesNode | None = None
    controller: ControllerNode | None = None
    template_controller: TemplateControllerNode | None = None
    logger: LoggerNode | None = None
    virtual_node: VirtualNodeNode | None = None
    coordinates: tuple[CoordinatesNode, ...] = ()


EMPTY_BODY = Body()


@dataclass(frozen=True, slots=True)
class ComponentNode:
    """`<component>`: its own body comes on top of the definitions it names."""

    name: str
    definition: str = ""
    body: Body = field(default=EMPTY_BODY)
    location: Location = NOWHERE


@dataclass(frozen=True, slots=True)
class Definition:
    """`<definition>`: a whole document."""

    name: str
    arguments: str = ""
    extends: str = ""
    body: Body = field(default=EMPTY_BODY)
    location: Location = NOWHERE
