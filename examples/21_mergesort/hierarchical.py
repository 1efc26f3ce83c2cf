"""Mergesort along the hierarchy: from the grid to sites, to clusters, to processes, and back.

    gcm-deploy --set version=hierarchical descriptors/mergesort.xml
    mpiexec -n 4 python examples/21_mergesort/hierarchical.py
    python examples/21_mergesort/hierarchical.py 1e7 1        10^7 numbers, one level

Each gateway scatters its numbers to the level below, in proportion to the processes there, and
merges what they return. So the clusters merge in parallel, and each number crosses a slow link once
on its way out and once on its way back.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import cast

import numpy as np
from numbers_to_sort import Row, merge, report, shares, size_wanted, unsorted

from runtime import MPI

Levels = Sequence[tuple[MPI.Intracomm, MPI.Intracomm]]


def levels_of(count: int) -> Levels:
    """Return communicators from the grid down; a member of the first represents the second.

    With three levels they are the sites, their clusters and the processes of these; with one, the
    clusters of all sites are dealt to at once.
    """
    inside = (MPI.COMM_CLUSTER, MPI.COMM_SELF)
    if count == 3:
        sites, clusters = MPI.COMM_GRID_GATEWAYS, MPI.COMM_SITE_GATEWAYS
        return (sites, MPI.COMM_SITE), (clusters, MPI.COMM_CLUSTER), inside
    is_first = MPI.COMM_CLUSTER.rank == 0
    firsts = MPI.COMM_GRID.Split(0 if is_first else MPI.UNDEFINED)
    return (cast("MPI.Intracomm", firsts), MPI.COMM_CLUSTER), inside


def deal(level: MPI.Intracomm, numbers: Row | None, behind: int) -> Row:
    """Scatter the numbers of the first member to all members; return the share of this process."""
    counts = shares(level.bcast(None if numbers is None else len(numbers)), level.allgather(behind))
    mine: Row = np.empty(counts[level.rank], np.int64)
    level.Scatterv([numbers, counts, MPI.INT64_T], mine, root=0)
    return mine


def collect(level: MPI.Intracomm, mine: Row) -> Row | None:
    """Return the sorted numbers; the first member merges them in the order of arrival."""
    if level.rank:
        level.Send(mine, dest=0)
        return None
    for _ in range(level.size - 1):
        status = MPI.Status()
        message = level.Mprobe(status=status)
        arrived: Row = np.empty(status.Get_count(MPI.INT64_T), np.int64)
        message.Recv(arrived)
        mine = merge(mine, arrived)
    return mine


def main() -> int:
    """Scatter numbers down the levels and merge sorted ones on the way up; return the exit code."""
    grid = MPI.COMM_GRID
    size = size_wanted()
    levels = levels_of(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    numbers = unsorted(size) if grid.rank == 0 else None
    grid.Barrier()
    begun = time.perf_counter()
    for level, behind in levels:
        if level:
            numbers = deal(level, numbers, behind.size)
    assert numbers is not None  # every process is in its cluster
    numbers.sort()
    for level, _ in reversed(levels):
        if level and numbers is not None:
            numbers = collect(level, numbers)
    return 0 if numbers is None else report(numbers, size, grid.size, begun)


if __name__ == "__main__":
    sys.exit(main())
