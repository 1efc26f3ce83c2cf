"""The bindings of a live composite, in an order that makes the same assembly again."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from gcm.adl.plan import End
from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.interfaces.interface import ClientInterface, ServerEnd, ServerInterface
from gcm.membranes.membrane_controller import MembraneController
from gcm.records import dataclass

THIS = "this"


@dataclass(frozen=True, slots=True)
class LiveBinding:
    """One binding within a composite; the server is None where it is in another process."""

    client: ClientInterface
    server: ServerEnd
    client_end: End
    server_end: End | None


def wires_of(composite: Composite) -> list[LiveBinding]:
    """Return the bindings between the sub-components and the inner faces of a composite.

    Interfaces that membranes of sub-components offer are ends as well.

    Multicast results come in the order of the servers, and gathercast arguments in the order of
    the clients; bound in the order of the list, both are again as they are now.
    """
    children = frozenset(composite.children)
    exported = {
        server: (child.name, name)
        for child in composite.children
        if MembraneController.name in child.membrane
        for name, server in child.controller(MembraneController).exports.items()
    }
    wires = [
        wire
        for client in _clients(composite)
        for server in client.servers
        if (wire := _wire(composite, children, exported, client, server)) is not None
    ]
    return _ordered(wires)


def _clients(composite: Composite) -> Iterator[ClientInterface]:
    for face in composite.inner_interfaces.values():
        if isinstance(face, ClientInterface):
            yield face
    for child in composite.children:
        yield from child.clients


def _wire(
    composite: Composite,
    children: frozenset[Component],
    exported: Mapping[ServerInterface, End],
    client: ClientInterface,
    server: ServerEnd,
) -> LiveBinding | None:
    """Return the binding, or None if it is not one of this composite but of another."""
    client_end = _name(composite, client.owner), client.name
    if not isinstance(server, ServerInterface):
        return LiveBinding(client, server, client_end, None)
    if server in exported:
        return LiveBinding(client, server, client_end, exported[server])
    is_face = server.owner is composite and (server.internal or not server.is_functional)
    if not is_face and (server.owner not in children or server.internal):
        return None
    return LiveBinding(client, server, client_end, (_name(composite, server.owner), server.name))


def _name(composite: Composite, owner: Component) -> str:
    return THIS if owner is composite else owner.name


def _ordered(wires: Sequence[LiveBinding]) -> list[LiveBinding]:
    """Move bindings back only as far as the clients of a gathercast server ask for it."""
    if not any(wire.server.type.is_gathercast for wire in wires):
        return list(wires)
    later: list[list[int]] = [[] for _ in wires]
    waits = [0] * len(wires)
    for chain in (*_same_client(wires), *_same_gathering(wires)):
        for first, second in pairwise(chain):
            later[first].append(second)
            waits[second] += 1
    ready = [number for number, count in enumerate(waits) if count == 0]
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(wires[number])
        for following in later[number]:
            waits[following] -= 1
            if waits[following] == 0:
                heapq.heappush(ready, following)
    return order


def _same_client(wires: Sequence[LiveBinding]) -> Iterable[list[int]]:
    chains: dict[ClientInterface, list[int]] = {}
    for number, wire in enumerate(wires):
        chains.setdefault(wire.client, []).append(number)
    return chains.values()


def _same_gathering(wires: Sequence[LiveBinding]) -> Iterator[list[int]]:
    chains: dict[ServerInterface, dict[ClientInterface, int]] = {}
    for number, wire in enumerate(wires):
        if isinstance(wire.server, ServerInterface) and wire.server.type.is_gathercast:
            chains.setdefault(wire.server, {})[wire.client] = number
    for server, numbers in chains.items():
        yield [numbers[client] for client in server.clients if client in numbers]
