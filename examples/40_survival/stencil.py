"""A stencil that rolls back to checkpoints in its neighbours' memory: lost ranks are restarted.

    gcm-deploy --emulate 2x2 --recovery rebuild examples/40_survival/stencil.py

Heat spreads on a ring of cells, of which each rank has a part. Now and then each rank sends a copy
of its cells to its right neighbour. When ranks are lost, all roll back to the last complete set of
copies; a restarted rank gets its cells from its right neighbour. Two ranks end on purpose during
the run.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from runtime import MPI

Array = NDArray[np.float64]

CELLS, STEPS, EVERY = 240, 60, 8
"""How many cells and steps there are, and after how many steps copies are made."""

DOOMED = {13: 1, 37: 2}
"""Which rank ends in which step; a restarted rank does not."""

NEVER = STEPS + 1

Checkpoints = dict[int, tuple[Array, Array]]
"""For each of the last two copies, by step: this rank's cells, and those of the left neighbour."""


def beginning(size: int, rank: int) -> Array:
    """Return the cells of a rank before the first step."""
    cells = np.zeros(CELLS)
    cells[: CELLS // 4] = 1.0
    return cells[CELLS * rank // size : CELLS * (rank + 1) // size].copy()


def spread(left: float, cells: Array, right: float) -> Array:
    """Return the cells one step later, from those beside them."""
    padded = np.concatenate(([left], cells, [right]))
    found: Array = cells + 0.2 * (padded[:-2] - 2 * cells + padded[2:])
    return found


def step(comm: MPI.Intracomm, cells: Array) -> Array:
    """Return the cells one step later."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    from_left = comm.sendrecv(cells[-1], right, source=left)
    from_right = comm.sendrecv(cells[0], left, source=right)
    return spread(from_left, cells, from_right)


def save(comm: MPI.Intracomm, kept: Checkpoints, count: int, cells: Array) -> None:
    """Keep the cells, and those of the left neighbour; forget all but the copies before."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    copy = comm.sendrecv(cells, right, source=left)
    kept[count] = cells, copy
    for old in sorted(kept)[:-2]:
        del kept[old]


def roll_back(comm: MPI.Intracomm, kept: Checkpoints) -> tuple[int, Array]:
    """Return the last step of which all copies are complete, and the cells then."""
    latest = comm.allgather(max(kept, default=None))
    count = min(one for one in latest if one is not None)
    for rank, one in enumerate(latest):
        right = (rank + 1) % comm.size
        if one is None and latest[right] is None:
            raise RuntimeError(f"rank {rank} and its copy, which rank {right} had, are both lost")
        if one is None and comm.rank == right:
            comm.send(kept[count][1], rank)
    cells: Array = kept[count][0] if kept else comm.recv(source=(comm.rank + 1) % comm.size)
    if comm.rank == 0:
        print(f"back to step {count} with {latest.count(None)} new ranks", flush=True)
    kept.clear()
    save(comm, kept, count, cells)
    return count, cells


def main() -> None:
    """Compute, even if ranks are lost."""
    comm: MPI.Intracomm = MPI.COMM_WORLD
    is_first = comm.Get_attr(MPI.FT_INCARNATION) == 1
    kept: Checkpoints = {}
    count, cells = (0, beginning(comm.size, comm.rank)) if is_first else (NEVER, np.empty(0))
    is_whole = is_first
    while count < STEPS or not is_whole:
        try:
            if not is_whole:
                comm = comm.Dup()  # the recovery: restarted ranks come here too
                count, cells = roll_back(comm, kept)
                is_whole = True
            if count % EVERY == 0 and count not in kept:
                save(comm, kept, count, cells)
            if is_first and DOOMED.get(count) == comm.rank:
                os._exit(9)
            cells = step(comm, cells)
            count += 1
            if count == STEPS:
                comm.barrier()
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_PROC_FAILED:
                raise
            is_whole = False
    parts = comm.gather(cells)
    if parts is not None:
        alone = beginning(1, 0)
        for _ in range(STEPS):
            alone = spread(alone[-1], alone, alone[0])
        is_right = np.allclose(np.concatenate(parts), alone)
        print(f"{count} steps by {comm.size} ranks: {is_right}", flush=True)


if __name__ == "__main__":
    main()
