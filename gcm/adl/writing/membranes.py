"""Describes the assembly in a live membrane: its interfaces and its bindings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gcm.components.boundary import Boundary
from gcm.components.model import Component
from gcm.interfaces.interface import ClientInterface, ServerEnd, ServerInterface
from gcm.interfaces.types import InterfaceType, Role
from gcm.membranes.membrane_controller import MembraneController

THIS = "this"

Told = tuple[ClientInterface, ServerEnd, str, str | None]
"""A binding: its two ends, and their words; those of the server are missing if it has none."""


def interfaces_of(holder: MembraneController) -> Iterator[InterfaceType]:
    """Yield the interfaces that a document declares in the membrane."""
    served: tuple[tuple[Role, Mapping[str, ServerInterface]], ...] = (
        (Role.SERVER, holder.exports),
        (Role.INTERNAL_SERVER, holder.internal_exports),
    )
    for role, exports in served:
        for name, server in exports.items():
            yield replace(server.type, name=name, role=role)
    for client in holder.clients:
        inside = holder.leads_inside(client.name)
        yield replace(client.type, role=Role.INTERNAL_CLIENT if inside else Role.CLIENT)


def exports_of(holder: MembraneController, parts: Sequence[Component]) -> Iterator[tuple[str, str]]:
    """Yield both ends of each binding that tells what serves an interface of the membrane."""
    for exports in (holder.exports, holder.internal_exports):
        for name, server in exports.items():
            yield f"{THIS}.{name}", _end_inside(holder.component, parts, server) or "?"


def bindings_of(holder: MembraneController, parts: Sequence[Component]) -> Iterator[Told]:
    """Yield the bindings of the components in the membrane, and those around the content."""
    component = holder.component
    for part in parts:
        for client in part.clients:
            for server in client.servers:
                end = _end_inside(component, parts, server)
                yield client, server, f"{part.name}.{client.name}", end
    outer = [(THIS, one) for one in holder.clients if holder.leads_inside(one.name)]
    for child in component.children:
        own = _holder(child)
        if own is not None:
            outer += [(child.name, one) for one in own.clients if not own.leads_inside(one.name)]
    for name, client in outer:
        for server in client.servers:
            yield client, server, f"{name}.{client.name}", _end_in_content(holder, server)


def _end_inside(host: Component, parts: Sequence[Component], server: ServerEnd) -> str | None:
    if not isinstance(server, ServerInterface):
        return None
    owner = server.owner
    if owner is host or (isinstance(owner, Boundary) and owner.host is host and server.internal):
        return f"{THIS}.{server.name}"
    return f"{owner.name}.{server.name}" if owner in parts else None


def _end_in_content(holder: MembraneController, server: ServerEnd) -> str | None:
    if not isinstance(server, ServerInterface):
        return None
    for name, exported in holder.internal_exports.items():
        if exported is server:
            return f"{THIS}.{name}"
    for child in holder.component.children:
        if server.owner is child and not server.is_functional:
            return f"{child.name}.{server.name}"
        own = _holder(child)
        for name, exported in own.exports.items() if own else ():
            if exported is server:
                return f"{child.name}.{name}"
    return f"{THIS}.{server.name}" if server.owner is holder.component else None


def _holder(component: Component) -> MembraneController | None:
    if MembraneController.name not in component.membrane:
        return None
    return component.controller(MembraneController)
