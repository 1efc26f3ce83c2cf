"""The interface `attribute-controller`, with which a file may name the signature of attributes."""

from __future__ import annotations

from dataclasses import replace

from gcm.adl.definitions.model import AttributesNode, Body, InterfaceNode

_NAME = "attribute-controller"
_ROLES = ("", "server")


def attribute_interface(body: Body) -> InterfaceNode | None:
    """Return the interface that stands for the attributes of a component, where there is one."""
    for interface in body.interfaces:
        if interface.name == _NAME and interface.role in _ROLES:
            return interface
    return None


def with_signature_of(body: Body, interface: InterfaceNode) -> Body:
    """Take the interface out of a body; its attributes have that signature if they have no other.

    The control interface itself comes with the attributes, so it is not one of the content's.
    """
    attributes = body.attributes or AttributesNode(location=interface.location)
    signature = attributes.signature or interface.signature
    return replace(
        body,
        interfaces=tuple([one for one in body.interfaces if one is not interface]),
        attributes=replace(attributes, signature=signature),
    )
