"""NPB EP, embarrassingly parallel: pairs of Gaussian deviates, counted in square rings.

    mpiexec -n 4 python examples/24_npb/ep.py S
    gcm-deploy --emulate 2x2 examples/24_npb/ep.py W          classes S, W, A

Two sums are compared with the published ones (NPB 3.2, ep.f), to 8 digits.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI
from random_numbers import skipped, uniform

SEED = 271828183
BLOCK = 1 << 16
"""Pairs that are made at a time."""

CLASSES = {
    "S": (24, -3.247834652034740e3, -6.958407078382297e3),
    "W": (25, -2.863319731645753e3, -6.320053679109499e3),
    "A": (28, -4.295875165629892e3, -1.580732573678431e4),
}
"""How many pairs there are, as a power of two, and what their deviates add up to."""


def block(number: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the sums and the ten counts of one block of pairs."""
    x, y = 2 * uniform(skipped(seed, 2 * BLOCK * number), 2 * BLOCK).reshape(-1, 2).T - 1
    square = x * x + y * y
    inside = (square <= 1) & (square > 0)
    x, y, square = x[inside], y[inside], square[inside]
    factor = np.sqrt(-2 * np.log(square) / square)
    x, y = x * factor, y * factor
    rings = np.bincount(np.maximum(abs(x), abs(y)).astype(int), minlength=10)
    return np.array([x.sum(), y.sum(), *rings])


def main() -> int:
    """Make pairs, add up, verify; return the exit code."""
    world = MPI.COMM_WORLD
    name = sys.argv[1] if len(sys.argv) > 1 else "S"
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    power, sum_of_x, sum_of_y = CLASSES[name]
    world.Barrier()
    begun, mine = time.perf_counter(), np.zeros(12)
    blocks = (1 << power) // BLOCK
    for number in range(world.rank, blocks, world.size):
        mine += block(number, seed)
        if world.rank == 0 and sys.stdout.isatty():
            print(f"\r{number} of {blocks} blocks", end="", flush=True)
    total = np.empty_like(mine)
    world.Allreduce(mine, total)
    seconds = world.allreduce(time.perf_counter() - begun, MPI.MAX)
    errors = abs(total[:2] / (sum_of_x, sum_of_y) - 1)
    is_right = bool(errors.max() <= 1e-8)
    if world.rank == 0:
        verdict = "verified" if is_right else "WRONG"
        print(
            f"EP class {name}: {int(total[2:].sum())} pairs of 2^{power}, sums {total[0]:.9e} "
            f"{total[1]:.9e}, {world.size} ranks: {verdict}; {seconds:.4f} s"
        )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
