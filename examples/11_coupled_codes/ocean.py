"""The ocean of two coupled codes: a surface that conducts heat and exchanges it with the air above.

Each rank has a stretch of the surface. It exchanges data with its neighbours over the native MPI of
the cluster, and with the atmosphere, which is divided differently and runs elsewhere, over
`coupling`.

    gcm-deploy descriptors/coupled-codes.xml
    python examples/11_coupled_codes/steer.py
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from surface import CELLS, FLUX, STEPS, SURFACE, conduct, overlaps, stretch, warm_spot

from runtime import coupling


def edges(own: NDArray[np.float64], world: MPI.Intracomm) -> tuple[float, float]:
    """Return the temperatures beside this rank's stretch; the ends of the surface are mirrors."""
    rank, size = world.Get_rank(), world.Get_size()
    left, right = float(own[0]), float(own[-1])
    if rank > 0:
        left = world.sendrecv(left, rank - 1, source=rank - 1)
    if rank < size - 1:
        right = world.sendrecv(right, rank + 1, source=rank + 1)
    return left, right


def main() -> int:
    """Compute the requested number of steps; return the exit code."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    world = MPI.COMM_WORLD
    me, air = coupling.rank, coupling.codes["atmosphere"]
    begin, end = stretch(me, coupling.size)
    own = warm_spot()[begin:end]
    neighbours = list(overlaps((begin, end), air))
    for _ in range(steps):
        for rank, first, last in neighbours:
            coupling.send(own[first:last], code="atmosphere", rank=rank, tag=SURFACE)
        left, right = edges(own, world)
        own = conduct(own, left, right)
        for rank, first, last in neighbours:
            own[first:last] += coupling.recv(code="atmosphere", rank=rank, tag=FLUX)
        if coupling.DRIVER in coupling.codes:
            coupling.send(float(own.mean()), code=coupling.DRIVER)
    total = world.gather(own)
    if total is not None:
        whole = np.concatenate(total)
        print(f"ocean: {CELLS} cells, {steps} steps, heat {whole.sum():.6f}", flush=True)
        print(f"ocean: warmest {whole.max():.6f} in cell {whole.argmax()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
