"""Which components a life-cycle action reaches, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from gcm.interfaces.interface import ClientInterface, ServerInterface

if TYPE_CHECKING:
    from gcm.components.model import Component

_Node: TypeAlias = "Component | ServerInterface"
"""A component, or the face through which calls pass a composite."""


def inside_out(component: Component) -> list[Component]:
    """Return everything inside `component` and then itself; a shared component once."""
    found: dict[Component, None] = {}
    pending: list[tuple[Component, bool]] = [(component, False)]
    while pending:
        part, children_done = pending.pop()
        if children_done:
            found[part] = None
        elif part not in found:
            pending.append((part, True))
            pending += [(child, False) for child in reversed(part.children)]
    return list(found)


def ending_with(component: Component) -> list[Component]:
    """Return what ends with `component`: without parts shared with a composite that stays alive."""
    ending = {component}
    for part in reversed(inside_out(component)):  # from outside to inside
        if all(
            parent in ending or parent.membrane.lifecycle.has_ended() for parent in part.parents
        ):
            ending.add(part)
    return [part for part in inside_out(component) if part in ending]


def servers_first(parts: Iterable[Component]) -> list[Component]:
    """Return `parts` in the order in which they can start: a server before those who call it.

    Bindings are followed through composites, and composites come after all that is no composite. In
    a cycle of bindings one of them is ignored. Otherwise the order stays.
    """
    given = dict.fromkeys(parts)
    ordered: dict[_Node, None] = {}
    seen: set[_Node] = set()
    composites = [part for part in given if part.children]
    pending: list[tuple[_Node, bool]] = [
        (part, False) for part in reversed(given) if not part.children
    ]
    while pending:
        node, servers_done = pending.pop()
        if servers_done:
            ordered[node] = None
        elif node not in seen:
            seen.add(node)
            pending.append((node, True))
            pending += [(server, False) for server in reversed(_next(node))]
    leaves = [part for part in ordered if not isinstance(part, ServerInterface) and part in given]
    return [*leaves, *composites]


def _next(node: _Node) -> list[_Node]:
    """Return what a call made in `node` reaches next."""
    if isinstance(node, ServerInterface):
        other = node.owner.other_face(node)
        clients = [other] if isinstance(other, ClientInterface) else []
    else:
        clients = node.clients
    ends = [server for client in clients for server in client.servers]
    return [
        end if isinstance(end.owner.other_face(end), ClientInterface) else end.owner
        for end in ends
        if isinstance(end, ServerInterface)
    ]
