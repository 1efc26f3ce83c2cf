"""The paths of the components of the machine, made of identifiers (`0:1:2`), and who hosts them."""

from __future__ import annotations

from runtime.part_names import part_above, site_of, words_of

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence

CLUSTERING = "clustering"
"""The name of the clustering component among the parts of a cluster, a site or the grid."""

GRID = "/grid"

LAUNCHER = "/launcher"
"""Where the launcher is called, and what it calls itself."""

COUPLING = "/coupling"
"""Where the launcher serves coupled codes."""

DRIVER_PATH = "/driver"
"""Where the Python program that drives the run is called."""

FIRST_CLUSTER = "0:0"
"""The cluster whose rank 0 reads the standard input of the run."""

RANKS = "/ranks/"
"""How the path of a rank begins for callers that are further away than its own front-end."""


def clustering_path(identifier: str) -> str:
    """Return the path of the clustering component of a cluster (`0:1`), a site (`0`), the grid.

    >>> clustering_path("0:1"), clustering_path("")
    ('/grid/site0/cluster1/clustering', '/grid/clustering')
    """
    return f"{part_path(identifier)}/{CLUSTERING}"


def above_path(clustering: str) -> str:
    """Return the path of the clustering component above another one.

    >>> above_path("/grid/site0/cluster1/clustering"), above_path("/grid/site0/clustering")
    ('/grid/site0/clustering', '/grid/clustering')
    """
    return f"{clustering.rpartition('/')[0].rpartition('/')[0]}/{CLUSTERING}"


def part_path(identifier: str) -> str:
    """Return the path of a rank (`0:1:2`), a cluster, a site or, for nothing, the grid."""
    names = zip(("site", "cluster", "wrapper"), words_of(identifier), strict=False)
    return "/".join([GRID, *(f"{name}{number}" for name, number in names)])


def node_path(node: str) -> str:
    """Return the path of the process that holds the components of a node.

    >>> node_path("lab/rack/blade07")
    '/nodes/lab/rack/blade07'
    """
    return f"/nodes/{node}"


def hosted_identifiers(cluster: str, levels: Sequence[str]) -> list[str]:
    """Return what the front-end of a cluster has clustering components of, its own one first."""
    site = site_of(cluster)
    return [cluster, *([site] if "L4" in levels else []), *([""] if "L5" in levels else [])]


def host_of(path: str, leaders: Sequence[int], leader: int) -> str | None:
    """Return the cluster whose front-end hosts the component at a path; None if there is none.

    `leaders` are the leading clusters of the sites, `leader` is the leading site.

    >>> host_of("/grid/site1/clustering", [0, 2], 0), host_of("/grid/site0/cluster1/x", [0, 2], 0)
    ('1:2', '0:1')
    """
    if not f"{path}/".startswith(f"{GRID}/"):
        return None
    first, second, *_ = [*path.removeprefix(GRID).strip("/").split("/"), ""]
    if first == CLUSTERING:
        return None if second else f"{leader}:{leaders[leader]}"
    site, cluster = first.removeprefix("site"), second.removeprefix("cluster")
    if first == site or not site.isdecimal() or int(site) >= len(leaders):
        return None
    if second == CLUSTERING:
        return f"{int(site)}:{leaders[int(site)]}"
    return f"{int(site)}:{cluster}" if second != cluster and cluster.isdecimal() else None


def above(identifier: str) -> str | None:
    """Return what is one level higher; None for the grid."""
    return part_above(identifier) if identifier else None
