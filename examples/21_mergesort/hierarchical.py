"""Mergesort along the hierarchy: from the grid to sites, to clusters, to processes, and back.

    gcm-deploy --set version=hierarchical descriptors/mergesort.xml
    mpiexec -n 4 python examples/21_mergesort/hierarchical.py
    python examples/21_mergesort/hierarchical.py

Each gateway scatters its numbers to the level below, in proportion to the processes there, and
merges what they return. So the clusters merge in parallel, and each number crosses a slow link once
on its way out and once on its way back.
"""

from __future__ import annotations

import sys

import numpy as np
from numbers_to_sort import SIZE, Row, merge, report, shares, unsorted

from runtime import MPI

LEVELS = (
    (MPI.COMM_GRID_GATEWAYS, MPI.COMM_SITE),  # a member of the first represents all of the second
    (MPI.COMM_SITE_GATEWAYS, MPI.COMM_CLUSTER),
    (MPI.COMM_CLUSTER, MPI.COMM_SELF),
)


def deal(level: MPI.Intracomm, numbers: Row | None, behind: int) -> Row:
    """Scatter the numbers of the first member to all members; return the share of this process."""
    counts = shares(level.bcast(None if numbers is None else len(numbers)), level.allgather(behind))
    mine: Row = np.empty(counts[level.rank], np.int32)
    level.Scatterv([numbers, counts, MPI.INT32_T], mine, root=0)
    return mine


def collect(level: MPI.Intracomm, mine: Row) -> Row | None:
    """Return the sorted numbers; the first member merges them in the order of arrival."""
    if level.rank:
        level.Send(mine, dest=0)
        return None
    for _ in range(level.size - 1):
        status = MPI.Status()
        message = level.Mprobe(status=status)
        arrived: Row = np.empty(status.Get_count(MPI.INT32_T), np.int32)
        message.Recv(arrived)
        mine = merge(mine, arrived)
    return mine


def main() -> int:
    """Scatter numbers down the levels and merge sorted ones on the way up; return the exit code."""
    grid = MPI.COMM_GRID
    size = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE
    numbers = unsorted(size) if grid.rank == 0 else None
    for level, behind in LEVELS:
        if level:
            numbers = deal(level, numbers, behind.size)
    assert numbers is not None  # every process is in its cluster
    numbers.sort()
    for level, _ in reversed(LEVELS):
        if level and numbers is not None:
            numbers = collect(level, numbers)
    return 0 if numbers is None else report(numbers, size, grid.size)


if __name__ == "__main__":
    sys.exit(main())
