"""Which component of an assembly goes to which node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING

from runtime.deployment.model import Deployment

if TYPE_CHECKING:
    from gcm.adl import ComponentPlan


def spread_components(root: ComponentPlan, deployment: Deployment) -> Mapping[str, str]:
    """Map the path of each component with a mapped virtual node to a node's `site/cluster/node`.

    The components of one virtual node are dealt out over its nodes in the order of the document:
    with three nodes, the fourth component shares the node of the first.
    """
    nodes = {
        one.name: [
            f"{cluster.path}/{cluster.nodes[address.number].name}"
            for address in one.nodes
            for cluster in [deployment.cluster(address.cluster)]
        ]
        for one in deployment.virtual_nodes
    }
    turns = {name: count() for name in nodes}
    return {
        component.path: nodes[name][next(turns[name]) % len(nodes[name])]
        for component, name in _placed(root)
        if nodes.get(name)
    }


def _placed(component: ComponentPlan) -> Iterator[tuple[ComponentPlan, str]]:
    if component.virtual_node is not None and not component.components:
        yield component, component.virtual_node.name
    for child in component.components:
        yield from _placed(child)
