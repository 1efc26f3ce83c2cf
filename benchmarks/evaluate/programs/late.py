"""Broadcasts to a cluster one of whose ranks comes late: how long the others take.

Rank 0 has a cluster of its own. All begin at set times, one of the others later; counted is the
longest time of those that are not late. The first rank prints JSON objects as `mpi_ranks.py` does.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

LATE = 0.05
"""The seconds by which a rank is late."""

world = MPI.COMM_WORLD
rounds = int(sys.argv[1])
mine, all_of_them = np.zeros(1), np.zeros(world.size)
CASES = {
    "nobody is late": 0,
    "a leaf is late": world.size - 1,
    "the gateway is late": 1,
    "readiness is told first": 0,
}


def broadcast(data: np.ndarray[tuple[int], np.dtype[np.float64]], name: str) -> None:
    """Send to all; where readiness counts the root knows first that all are there."""
    if name == "readiness is told first":
        world.Gather(mine, all_of_them if world.rank == 0 else None)
    world.Bcast(data)


for size in (8, 64 << 10):
    data = np.zeros(size // 8)
    for name, late in CASES.items():
        is_late = late > 0 and world.rank == late
        broadcast(data, name)
        seconds = []
        for _ in range(rounds):
            start = world.bcast(time.monotonic() + 0.03)
            time.sleep(max(0.0, start + (LATE if is_late else 0.0) - time.monotonic()))
            broadcast(data, name)
            taken = 0.0 if is_late else time.monotonic() - start
            seconds.append(max(world.allgather(taken)))
        if world.rank == 0:
            print(json.dumps({"what": name, "size": size, "seconds": seconds}), flush=True)
