"""Pi by throwing darts, flat: every process of the grid throws, one reduction averages the results.

    gcm-deploy descriptors/monte-carlo.xml           on sites and clusters, emulated on this machine
    mpiexec -n 4 python examples/20_monte_carlo/flat.py         on one cluster
    python examples/20_monte_carlo/flat.py 1e8                  alone, with 10^8 darts

The program does not mention sites or clusters. `COMM_GRID` has the processes of all of them, and a
reduction on it sends one number over each slow link.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from darts import hits, tries_of, verdict

from runtime import MPI


def main() -> int:
    """Throw, average, check; return the exit code."""
    grid = MPI.COMM_GRID
    each, begun = tries_of(grid.size), time.perf_counter()
    mine = np.array([4 * hits(each, seed=grid.rank) / each])
    average = np.empty(1)
    grid.Reduce(mine, average, op=MPI.AVG, root=0)
    if grid.rank:
        return 0
    pi, tries = float(average[0]), each * grid.size
    answer = verdict(pi, tries)
    seconds = time.perf_counter() - begun
    print(
        f"pi is about {pi:.6f} after {tries} tries of {grid.size} processes: {answer}; "
        f"{seconds:.4f} s"
    )
    return 0 if answer == "right" else 1


if __name__ == "__main__":
    sys.exit(main())
