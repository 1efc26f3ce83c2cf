"""Places the components of an assembly on nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import TYPE_CHECKING

from runtime.deployment.model import Deployment

if TYPE_CHECKING:
    from gcm.adl import ComponentPlan


def spread_components(root: ComponentPlan, deployment: Deployment) -> Mapping[str, str]:
    """Map the path of each component with a mapped virtual node to a node's `site/cluster/node`.

    The components of one virtual node are dealt out over its nodes in the order of the document:
    with three nodes, the fourth component shares the node of the first. A component in a composite
    without a mapped virtual node of its own is placed with the composite.
    """
    nodes = {one.name: list(map(deployment.path_of, one.nodes)) for one in deployment.virtual_nodes}
    turns = {name: cycle(found) for name, found in nodes.items() if found}
    return dict(_placed(root, turns, ""))


def _placed(
    component: ComponentPlan, turns: Mapping[str, Iterator[str]], around: str
) -> Iterator[tuple[str, str]]:
    wanted = component.notes.virtual_node
    node = next(turns[wanted.name]) if wanted and wanted.name in turns else around
    if node:
        yield component.path, node
    for child in component.components:
        yield from _placed(child, turns, node)
