"""How a descriptor names a cluster of an emulated grid."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

from benchmarks.grid.layout import Cluster
from benchmarks.grid.standin import SSH


def cluster_element(
    cluster: Cluster, ranks: int, *, reachability: str = "auto", port: int = 0
) -> str:
    """Return the `<cluster>` with this many ranks, reached by the stand-in of `ssh`.

    Its front-end runs with this Python, and listens at `port`, or at any that is free.
    """
    mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
    return (
        f'<cluster reachability="{reachability}">'
        f'<ssh host="{cluster.address}" command-path="{SSH}"/>'
        f'<front-end python={quoteattr(sys.executable)} address="{cluster.address}" port="{port}"/>'
        f'<mpi ranks="{ranks}" command-path={mpiexec}/></cluster>'
    )
