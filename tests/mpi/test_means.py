"""`MPI.AVG` in all forms of reductions, where native MPI serves a communicator and on the grid."""

from __future__ import annotations

import pytest

from tests.grids import Grid, Plain

pytestmark = pytest.mark.mpi


PROGRAM = """
import numpy as np
from runtime import MPI

for comm in (MPI.COMM_CLUSTER, MPI.COMM_GRID):
    size, rank = comm.size, comm.rank
    ramp = np.arange(4.0 * size)
    mine, got, block = ramp + rank, np.zeros(4 * size), np.zeros(4)
    mean = ramp + (size - 1) / 2
    my_block = mean[4 * rank : 4 * rank + 4]
    counts = [4] * size
    cases = (
        ("Iallreduce", (mine, got), got, mean, True),
        ("Ireduce", (mine, got), got, mean, rank == 0),
        ("Ireduce_scatter_block", (mine, block), block, my_block, True),
        ("Ireduce_scatter", (mine, block, counts), block, my_block, True),
        ("Iscan", (mine, got), got, ramp + rank / 2, True),
        ("Iexscan", (mine, got), got, ramp + (rank - 1) / 2, rank > 0),
    )
    for name, arguments, result, expected, counts_here in cases:
        result[:] = -1
        request = getattr(comm, name)(*arguments, op=MPI.AVG)
        MPI.Request.Waitall([comm.Ibarrier(), request])
        assert not counts_here or np.allclose(result, expected), (name, result)
        prepared = getattr(comm, name[1:].capitalize() + "_init")(*arguments, op=MPI.AVG)
        for more in (1, 2):
            mine += 1
            prepared.Start()
            while not prepared.Test():
                pass
            assert not counts_here or np.allclose(result, expected + more), (name, result)
        prepared.Free()
        mine -= 2
    print("right", size)
"""


def test_means_on_a_grid_and_in_its_clusters(grid: Grid) -> None:
    assert grid("2+1", PROGRAM) == {
        0: ["right 2", "right 3"],
        1: ["right 2", "right 3"],
        2: ["right 1", "right 3"],
    }


def test_means_under_plain_mpiexec(plain: Plain) -> None:
    assert plain(2, PROGRAM) == ["right 2"] * 4
