"""Who calls whom in a live assembly: along bindings, through the composites in between."""

from __future__ import annotations

from collections.abc import Iterator

from gcm.components.model import Component
from gcm.interfaces.interface import ClientInterface, Interface, ServerInterface


def servers_of(component: Component) -> Iterator[Component]:
    """Yield the components that the clients of `component` lead to, through composites."""
    for client in component.clients:
        yield from _behind(client, set())


def clients_of(component: Component) -> Iterator[Component]:
    """Yield the components whose clients lead to `component`, through composites."""
    for server in component.servers:
        yield from _before(server, set())


def _behind(client: ClientInterface, seen: set[Interface]) -> Iterator[Component]:
    for server in client.servers:
        if isinstance(server, ServerInterface) and server not in seen:
            seen.add(server)
            through = server.owner.other_face(server)
            if isinstance(through, ClientInterface):
                yield from _behind(through, seen)
            else:
                yield server.owner


def _before(server: ServerInterface, seen: set[Interface]) -> Iterator[Component]:
    for client in server.clients:
        if client not in seen:
            seen.add(client)
            through = client.owner.other_face(client)
            if isinstance(through, ServerInterface):
                yield from _before(through, seen)
            else:
                yield client.owner
