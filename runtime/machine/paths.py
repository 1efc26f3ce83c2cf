"""The paths of the components of the machine, made of identifiers: `0:1:2` is a rank."""

from __future__ import annotations

CLUSTERING = "clustering"
"""The name of the clustering component among the parts of a cluster, a site or the grid."""

GRID = "/grid"

LAUNCHER = "/launcher"
"""Where the launcher is called, and what it calls itself."""

COUPLING = "/coupling"
"""Where the launcher serves coupled codes."""

DRIVER_PATH = "/driver"
"""Where the Python program that drives the run is called."""

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
    numbers = identifier.split(":") if identifier else []
    names = zip(("site", "cluster", "wrapper"), numbers, strict=False)
    return "/".join([GRID, *(f"{name}{number}" for name, number in names)])
