"""A solver that continues with fewer ranks: when some are lost, the others take over their rows.

    gcm-deploy --emulate 2x2 --recovery shrink examples/40_survival/solver.py

Solves A x = b by Jacobi's method. Each rank works on some rows and has all of x, so the loss of a
rank loses work but no data. Two ranks end on purpose during the run. After a loss all calls on the
communicator raise an error, so all ranks reach `Dup`, which recovers it.
"""

from __future__ import annotations

import os

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[np.float64]

SIZE = 120
PRECISION = 1e-10
DOOMED = {20: 1, 60: 2}
"""Which rank of COMM_WORLD ends in which step."""


def rows_of(comm: MPI.Intracomm) -> slice:
    """Return the rows of this rank."""
    return slice(SIZE * comm.rank // comm.size, SIZE * (comm.rank + 1) // comm.size)


def step(comm: MPI.Intracomm, matrix: Array, right: Array, x: Array) -> tuple[Array, float]:
    """Return the next x, and how much has changed; raises an error if a rank is lost."""
    mine = rows_of(comm)
    diagonal = matrix.diagonal()[mine]
    fresh = x[mine] + (right[mine] - matrix[mine] @ x) / diagonal
    parts = comm.allgather(fresh)
    found: Array = np.concatenate(parts)
    return found, float(np.abs(found - x).max())


def without_the_lost(comm: MPI.Intracomm) -> MPI.Intracomm:
    """Return a communicator of the surviving ranks, all of which must call this."""
    small = comm.Dup()
    if small.rank == 0:
        print(f"{comm.size - small.size} lost, {small.size} go on", flush=True)
    return small


def main() -> None:
    """Solve, even if ranks are lost."""
    numbers = np.random.default_rng(7)
    matrix = numbers.random((SIZE, SIZE)) / (0.6 * SIZE) + np.eye(SIZE)
    right = numbers.random(SIZE)
    comm: MPI.Intracomm = MPI.COMM_WORLD
    x, count, is_new = np.zeros(SIZE), 0, False
    while True:
        if DOOMED.get(count) == MPI.COMM_WORLD.rank:
            os._exit(9)
        try:
            if is_new:  # some may have finished a step that others have not
                x, count = comm.bcast((x, count))
                is_new = False
            fresh, change = step(comm, matrix, right, x)
            comm.Agree(1)  # raises at all of them if one is lost
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_PROC_FAILED:
                raise
            comm, is_new = without_the_lost(comm), True
            continue
        x, count = fresh, count + 1
        if change < PRECISION:
            break
    if comm.rank == 0:
        is_right = np.abs(matrix @ x - right).max() < 1e-8
        ranks = f"{comm.size} of {MPI.COMM_WORLD.size} ranks"
        print(f"solved in {count} steps with {ranks}: {is_right}")


if __name__ == "__main__":
    main()
