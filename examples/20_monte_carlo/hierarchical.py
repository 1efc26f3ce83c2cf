"""Pi by throwing darts, along the hierarchy: clusters add up first, then sites, then the grid.

    gcm-deploy --set version=hierarchical descriptors/monte-carlo.xml
    mpiexec -n 4 python examples/20_monte_carlo/hierarchical.py
    python examples/20_monte_carlo/hierarchical.py

The first process of each cluster is its gateway, and that of the first cluster of a site is also
the gateway of the site. On all other processes the gateway communicators are `COMM_NULL`, which is
false.

Hits and tries are added up and divided once at the end: an average of averages would be wrong if
clusters differ in size.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from darts import hits, tries_of, verdict

from runtime import MPI


def main() -> int:
    """Throw, add up level by level, check; return the exit code."""
    grid = MPI.COMM_GRID
    each, begun = tries_of(grid.size), time.perf_counter()
    counted = np.array([hits(each, seed=grid.rank), each])
    for level in (MPI.COMM_CLUSTER, MPI.COMM_SITE_GATEWAYS, MPI.COMM_GRID_GATEWAYS):
        if level:
            total = np.empty_like(counted)
            level.Reduce(counted, total, op=MPI.SUM, root=0)
            counted = total
    if grid.rank:
        return 0
    hit, tries = (int(number) for number in counted)
    pi = 4 * hit / tries
    answer = verdict(pi, tries)
    seconds = time.perf_counter() - begun
    print(
        f"pi is about {pi:.6f} after {tries} tries of {grid.size} processes: {answer}; "
        f"{seconds:.4f} s"
    )
    return 0 if answer == "right" else 1


if __name__ == "__main__":
    sys.exit(main())
