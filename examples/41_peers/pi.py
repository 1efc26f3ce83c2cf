"""Pi by throwing darts, in rounds: an unmodified program that survives the loss of peers.

    gcm-peer run -n 4 -r 2 examples/41_peers/pi.py      on the peers of a lab, each rank twice
    gcm-deploy --emulate 2x4 --replicas 2 examples/41_peers/pi.py   the same, on this machine
    mpiexec -n 4 python examples/41_peers/pi.py         on one cluster, each rank once

docs/peers.md shows how to make a lab. End a peer during the run, with `kill -9` or its power
switch: each line is printed once, and is that of an undisturbed run, since each rank has its own
seed.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

ROUNDS, TRIES = 5, 100_000


def main() -> int:
    """Throw, and add up after each round; return the exit code."""
    world = MPI.COMM_WORLD
    pause = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    dice, hits = np.random.default_rng(world.rank), 0
    for number in range(1, ROUNDS + 1):
        time.sleep(pause)
        x, y = dice.random(TRIES), dice.random(TRIES)
        hits += world.allreduce(int(np.count_nonzero(x * x + y * y < 1)))
        if world.rank == 0:
            tries = number * world.size * TRIES
            print(f"{tries} darts of {world.size} ranks: {4 * hits / tries:.6f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
