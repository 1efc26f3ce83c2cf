"""Pi by integration: each rank adds up every n-th strip below 4 / (1 + x^2) from 0 to 1.

    mpiexec -n 4 python examples/22_integration/integrate.py             on one cluster
    gcm-deploy --emulate 2x2 examples/22_integration/integrate.py 1e7    on two, with 10^7 strips

The midpoint rule has an error of 1 / (12 n^2), which is what the result is compared with.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

BLOCK = 1 << 20


def area(strips: int, first: int, step: int) -> float:
    """Return the area of strips `first`, `first + step`, ... of all `strips`."""
    total = 0.0
    for begun in range(first, strips, step * BLOCK):
        x = (np.arange(begun, min(strips, begun + step * BLOCK), step) + 0.5) / strips
        total += float(np.sum(4 / (1 + x * x))) / strips
    return total


def main() -> int:
    """Integrate, add up, check; return the exit code."""
    world = MPI.COMM_WORLD
    strips = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    pi = world.reduce(area(strips, world.rank, world.size), MPI.SUM)
    if pi is None:
        return 0
    error = abs(pi - np.pi)
    is_right = error < 1.01 / (12 * strips**2) + 1e-13
    verdict = "right" if is_right else "wrong"
    print(f"pi is {pi:.13f} by {strips} strips of {world.size} ranks: {verdict}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
