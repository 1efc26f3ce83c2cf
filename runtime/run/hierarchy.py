"""The components of a running machine: their paths, and who hosts them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.machine.paths import CLUSTERING, GRID

_PLACE = re.compile(rf"site(\d+)/(?:cluster(\d+)|{CLUSTERING})")


def node_path(node: str) -> str:
    """Return the path of the process that holds the components of a node.

    >>> node_path("lab/rack/blade07")
    '/nodes/lab/rack/blade07'
    """
    return f"/nodes/{node}"


def hosted_identifiers(cluster: str, levels: Sequence[str]) -> list[str]:
    """Return what the front-end of a cluster has clustering components of, its own one first."""
    site = cluster.partition(":")[0]
    return [cluster, *([site] if "L4" in levels else []), *([""] if "L5" in levels else [])]


def host_of(path: str, leaders: Sequence[int], leader: int) -> str | None:
    """Return the cluster whose front-end hosts the component at a path; None if there is none.

    `leaders` are the leading clusters of the sites, `leader` is the leading site.

    >>> host_of("/grid/site1/clustering", [0, 2], 0), host_of("/grid/site0/cluster1/x", [0, 2], 0)
    ('1:2', '0:1')
    """
    names = path.removeprefix(GRID).strip("/").split("/")
    if names == [CLUSTERING]:
        return f"{leader}:{leaders[leader]}"
    found = _PLACE.fullmatch("/".join(names[:2]))
    if not path.startswith(f"{GRID}/") or found is None or int(found[1]) >= len(leaders):
        return None
    site = int(found[1])
    return f"{site}:{found[2] or leaders[site]}"


def above(identifier: str) -> str | None:
    """Return what is one level higher; None for the grid."""
    return identifier.rpartition(":")[0] if identifier else None
