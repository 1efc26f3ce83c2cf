"""The air of two coupled codes, in Python: it takes heat from the ocean, a program in C (ocean.c).

What C sends as an array of MPI_DOUBLE is an array of numpy here, and the other way round.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

from runtime import coupling

CELLS, STEPS, SURFACE, HEAT = 8, 10, 1, 2


def main() -> int:
    """Exchange heat with the rank of the ocean below; return the exit code."""
    me = coupling.rank
    air = np.full(CELLS, 280.0)
    for _ in range(STEPS):
        below = coupling.recv(code="ocean", rank=me, tag=SURFACE)
        taken = 0.1 * (below - air)
        air += taken
        coupling.send(-taken, code="ocean", rank=me, tag=HEAT)
    whole = MPI.COMM_WORLD.reduce(float(air.sum()))
    if whole is not None:
        (ocean,) = coupling.recv(code="ocean", rank=0)
        coupling.send(f"both have {ocean + whole:.6f}", code="ocean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
