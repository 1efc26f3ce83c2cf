"""Who calls whom in a live assembly: along bindings, through the composites of this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.interfaces.interface import ClientInterface, Interface, ServerEnd, ServerInterface


def servers_of(component: Component) -> Iterator[Component]:
    """Yield the components that calls of `component` lead to, through the composites here."""
    for client in component.bindables:
        yield from _behind(client, set())


def clients_of(component: Component) -> Iterator[Component]:
    """Yield the components whose calls lead to `component`, those outside of it first."""
    for server in (*component.servers, *_inner_servers(component)):
        yield from _before(server, set())


def _inner_servers(component: Component) -> Iterable[ServerInterface]:
    faces = component.inner_interfaces.values() if isinstance(component, Composite) else ()
    return [face for face in faces if isinstance(face, ServerInterface)]


def _behind(client: ClientInterface, seen: set[Interface]) -> Iterator[Component]:
    for server in client.servers:
        if isinstance(server, ServerInterface) and server not in seen:
            seen.add(server)
            through = server.owner.other_face(server)
            if isinstance(through, ClientInterface) and not server.owner.is_elsewhere:
                yield from _behind(through, seen)
            else:
                yield server.owner


def _before(server: ServerInterface, seen: set[Interface]) -> Iterator[Component]:
    known: tuple[object, ...] = server.clients
    for client in known:
        # A client of another process is known by its name only, and its mirror comes as well.
        if isinstance(client, ClientInterface) and client not in seen:
            seen.add(client)
            through = client.owner.other_face(client)
            if isinstance(through, ServerInterface) and not client.owner.is_elsewhere:
                yield from _before(through, seen)
            else:
                yield client.owner


def behind_composites(server: ServerEnd) -> tuple[ServerEnd, list[Component]]:
    """Return where calls of `server` end up, and the composites here that do nothing to them.

    What gathers or spreads calls, holds them back, or puts something around them, is where they go.
    """
    passed: list[Component] = []
    while isinstance(server, ServerInterface) and (onward := _next(server)) is not None:
        passed.append(server.owner)
        server = onward
    return server, passed


def _next(server: ServerInterface) -> ServerEnd | None:
    owner = server.owner
    face = owner.other_face(server)
    if owner.is_elsewhere or not isinstance(face, ClientInterface) or face.type.is_multicast:
        return None
    if server.gathers or not (owner.membrane.admits_calls or server.internal):
        return None
    for onward, (_, stub) in zip(face.servers, face.members(), strict=True):
        # A server that gathers knows the composite's face as its client, not those before it.
        if onward.type.is_gathercast or (isinstance(onward, ServerInterface) and onward.gathers):
            return None
        if all(
            owner.membrane.compose(server, name, owner.target_of(server, name))
            == getattr(stub, name)
            for name in stub._operations
        ):
            return onward
    return None
