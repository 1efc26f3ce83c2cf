"""Places the components of an assembly on nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from runtime.deployment.model import Deployment

if TYPE_CHECKING:
    from gcm.adl import Outline


class _Placed(NamedTuple):
    path: str
    node: str
    virtual: str
    """The virtual node whose turn it took."""


def spread_components(root: Outline, deployment: Deployment) -> Mapping[str, str]:
    """Map the path of each component with a mapped virtual node to a node's `site/cluster/node`.

    The components of one virtual node are dealt out over its nodes in the order of the document:
    with three nodes, the fourth component shares the node of the first. What is in a composite and
    has no mapped virtual node of its own takes its turn on that of the composite, which lives where
    the first of these does.
    """
    nodes = {one.name: list(map(deployment.path_of, one.nodes)) for one in deployment.virtual_nodes}
    turns = {name: cycle(found) for name, found in nodes.items() if found}
    return {one.path: one.node for one in _placed(root, turns, "")}


def idle_nodes(where: Mapping[str, str], deployment: Deployment) -> Mapping[str, Sequence[str]]:
    """Return the nodes that get no component, for each virtual node of which others get some.

    A virtual node of which no node gets any is a spare: components can move there later.
    """
    taken = set(where.values())
    found: dict[str, Sequence[str]] = {}
    for virtual in deployment.virtual_nodes:
        names = list(map(deployment.path_of, virtual.nodes))
        idle = [name for name in names if name not in taken]
        if 0 < len(idle) < len(names):
            found[virtual.name] = idle
    return found


def _placed(component: Outline, turns: Mapping[str, Iterator[str]], around: str) -> list[_Placed]:
    used = component.virtual_node if component.virtual_node in turns else around
    inside = [one for child in component.components for one in _placed(child, turns, used)]
    if not used:
        return inside
    first = next((one.node for one in inside if one.virtual == used), "")
    return [_Placed(component.path, first or next(turns[used]), used), *inside]
