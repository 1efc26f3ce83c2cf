"""The operations of the Java Grande Forum, section 1: how long each takes, and what it carries.

    mpiexec -n 4 python examples/26_java_grande/operations.py
    gcm-deploy --emulate 2x2 examples/26_java_grande/operations.py --seconds 0.5

Every operation is repeated until its time is over; what arrives is checked once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, RANKS = WORLD.rank, WORLD.size
SIZES = (8, 64, 512, 4096, 32768, 262144)


def operations(size: int) -> dict[str, tuple[Callable[[], object], Callable[[], bool]]]:
    """Return what does each operation, with so many bytes of each rank, and what checks it."""
    count = size // 8
    one, all_in = np.full(count, RANK + 1.0), np.zeros(count * RANKS)
    all_out, into = np.repeat(np.arange(RANKS) + 1.0, count), np.zeros(count)
    from_root = np.full(count, RANK + 1.0)
    last = RANKS - 1

    def pingpong() -> None:
        if last and RANK == 0:
            WORLD.Send(one, last)
            WORLD.Recv(into, last)
        elif last == RANK and last:
            WORLD.Recv(into, 0)
            WORLD.Send(into, 0)

    total = RANKS * (RANKS + 1) / 2
    return {
        "pingpong": (pingpong, lambda: bool(RANK or not last or (into == 1).all())),
        "barrier": (WORLD.Barrier, lambda: True),
        "bcast": (lambda: WORLD.Bcast(from_root), lambda: bool((from_root == 1).all())),
        "reduce": (lambda: WORLD.Reduce(one, into), lambda: bool(RANK or (into == total).all())),
        "scatter": (
            lambda: WORLD.Scatter(all_out, into),
            lambda: bool((into == RANK + 1).all()),
        ),
        "gather": (
            lambda: WORLD.Gather(one, all_in),
            lambda: bool(RANK or np.array_equal(all_in, all_out)),
        ),
        "alltoall": (
            lambda: WORLD.Alltoall(all_out, all_in),
            lambda: bool((all_in == RANK + 1).all()),
        ),
    }


def seconds_of(work: Callable[[], object], least: float) -> float:
    """Return how long one call takes at the slowest rank; all ranks call equally often."""
    work()
    times = 1
    while True:
        WORLD.Barrier()
        begun = time.perf_counter()
        for _ in range(times):
            work()
        spent = WORLD.allreduce(time.perf_counter() - begun, MPI.MAX)
        if spent >= least:
            return float(spent / times)
        times *= 2 if spent < least / 4 else 4


def main() -> int:
    """Measure all operations, print a table; return the exit code."""
    parser = argparse.ArgumentParser(description="Operations of the Java Grande Forum.")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each figure (0.1)")
    options = parser.parse_args()
    is_right = True
    if RANK == 0:
        print(f"{RANKS} ranks, microseconds:\n{'bytes':>10}", end="")
        print("".join(f"{name:>10}" for name in operations(8)), flush=True)
    for size in SIZES:
        figures = []
        for work, check in operations(size).values():
            figures.append(seconds_of(work, options.seconds))
            is_right &= WORLD.allreduce(int(check()), MPI.MIN) == 1
        if RANK == 0:
            cells = "".join(f"{1e6 * figure:10.1f}" for figure in figures)
            print(f"{size:10}{cells}", flush=True)
    if RANK == 0:
        print("right" if is_right else "WRONG")
    return 0 if is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
