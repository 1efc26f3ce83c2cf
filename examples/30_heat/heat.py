"""The heat equation on a rod, with checkpoints: killed at any time, it resumes from the last one.

Each rank has a piece of the rod. From time to time it saves that to its own file, alternating
between two, and no rank continues before all have saved: so there is always a step that every rank
has saved, however the run ends. At the start, the ranks look for the latest such step. Wherever the
ranks ran, their files come home to this folder; start the program again, and it finds them.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

CELLS, EVERY = 50, 100  # cells of each rank, steps from one checkpoint to the next
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
world = MPI.COMM_WORLD
left = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
right = world.rank + 1 if world.rank < world.size - 1 else MPI.PROC_NULL


def save(step: int, heat: Any) -> None:
    """Write the checkpoint of a step, whole or not at all."""
    path = Path("checkpoints", f"{world.rank}-{step // EVERY % 2}.npz")
    np.savez(path.with_suffix(".new.npz"), step=step, heat=heat)
    path.with_suffix(".new.npz").rename(path)
    world.Barrier()


def restore() -> tuple[int, Any]:
    """Return the latest step that every rank has a checkpoint of, and the heat then."""
    Path("checkpoints").mkdir(exist_ok=True)
    saved = {0: np.where(np.arange(CELLS + 2) < CELLS // 2, 100.0 * (world.rank == 0), 0.0)}
    for path in Path("checkpoints").glob(f"{world.rank}-[01].npz"):
        with np.load(path) as found:
            saved[int(found["step"])] = found["heat"]
    step = max(set.intersection(*map(set, world.allgather(list(saved)))))
    return step, saved[step]


begun, heat = restore()
if world.rank == 0:
    print(f"{world.size} ranks begin at step {begun} of {STEPS}", flush=True)
for step in range(begun + 1, STEPS + 1):
    world.Sendrecv(heat[1:2], left, 0, heat[-1:], right, 0)
    world.Sendrecv(heat[-2:-1], right, 1, heat[:1], left, 1)
    heat[1:-1] += 0.4 * (heat[:-2] - 2 * heat[1:-1] + heat[2:])
    if step % EVERY == 0:
        save(step, heat)
pieces = world.gather(heat[1:-1])
if pieces is not None:
    rod = np.concatenate(pieces)
    np.savetxt("rod.txt", rod)
    print(f"the rod after {STEPS} steps is in rod.txt: {rod.sum():.3f} in all")
