"""Mergesort, flat and unmodified: the first process scatters the numbers and merges the results.

    gcm-deploy descriptors/mergesort.xml           on sites and clusters, emulated on this machine
    mpiexec -n 4 python examples/21_mergesort/flat.py         on one cluster
    python examples/21_mergesort/flat.py 1e7                  alone, 10^7 numbers

This is a plain mpi4py program that knows nothing about grids. The descriptor has
`comm-world="grid"`, so `COMM_WORLD` has the processes of all clusters.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI
from numbers_to_sort import Row, merge, report, shares, size_wanted, unsorted


def main() -> int:
    """Scatter, sort, merge in the order of arrival; return the exit code."""
    world = MPI.COMM_WORLD
    size = size_wanted()
    counts = shares(world.bcast(size), [1] * world.size)
    mine: Row = np.empty(counts[world.rank], np.int64)
    numbers = unsorted(size) if world.rank == 0 else None
    world.Barrier()
    begun = time.perf_counter()
    world.Scatterv([numbers, counts, MPI.INT64_T], mine, root=0)
    mine.sort()
    if world.rank:
        world.Send(mine, dest=0)
        return 0
    for _ in range(world.size - 1):
        arrived: Row = np.empty(max(counts), np.int64)
        status = MPI.Status()
        world.Recv(arrived, source=MPI.ANY_SOURCE, status=status)
        mine = merge(mine, arrived[: status.Get_count(MPI.INT64_T)])
    return report(mine, size, world.size, begun)


if __name__ == "__main__":
    sys.exit(main())
