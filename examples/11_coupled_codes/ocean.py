"""The ocean of two coupled codes: a surface that conducts heat and exchanges it with the air above.

Each rank has a stretch of the surface. It exchanges edges with its neighbours over the native MPI
of the cluster, and the whole surface with the atmosphere, which is divided differently and runs
elsewhere, at ports that the descriptor connects.

    gcm-deploy descriptors/coupled-codes.xml
    python examples/11_coupled_codes/steer.py
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from surface import CELLS, conduct, stretch, warm_spot

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


def main() -> None:
    """Compute the requested number of steps."""
    steps = coupling.setting("steps", int)
    world = MPI.COMM_WORLD
    begin, end = stretch(coupling.rank, coupling.size)
    own = warm_spot()[begin:end]
    flux = np.empty_like(own)
    for _ in range(steps):
        coupling.exchange("surface", own)
        own = conduct(own, *edges(own, world))
        coupling.exchange("flux", flux)
        own += flux
        if coupling.DRIVER in coupling.codes:
            coupling.send(float(own.mean()), code=coupling.DRIVER)
    total = world.gather(own)
    if total is not None:
        whole = np.concatenate(total)
        print(f"ocean: {CELLS} cells, {steps} steps, heat {whole.sum():.6f}", flush=True)
        print(f"ocean: warmest {whole.max():.6f} in cell {whole.argmax()}", flush=True)


if __name__ == "__main__":
    main()
