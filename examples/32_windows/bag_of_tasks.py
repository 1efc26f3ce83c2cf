"""A bag of tasks in a window: ranks take the next task by themselves, and nobody hands them out.

    gcm-deploy --emulate 2x2x2 examples/32_windows/bag_of_tasks.py [TASKS]

Rank 0 has a counter and the results in a window. Whoever is free takes a number from the counter
with `Fetch_and_op`, which is one round trip, and puts its result where it belongs. Rank 0 works on
tasks as well: what others ask of its memory is done meanwhile by a thread of the runtime.

A farm with a master needs a rank that does nothing but answer, or a master that looks for messages
while it works.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any

from mpi4py import MPI

WORD = MPI.DOUBLE.size


def worth(task: int) -> float:
    """Compute a task: some take a hundred times as long as others."""
    steps = 200 * (1 + task * 7919 % 100)
    return sum(1.0 / (1 + (task + step) % 1000) for step in range(steps))


def main() -> None:
    """Work on the tasks, and say at rank 0 whether all results are there."""
    world = MPI.COMM_WORLD
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    size = WORD * (1 + tasks) if world.rank == 0 else 0
    window = MPI.Win.Allocate(size, WORD, comm=world)
    done = 0
    one, taken = array("q", [1]), array("q", [0])

    window.Lock_all()
    while True:
        window.Fetch_and_op(one, taken, 0, 0)
        window.Flush(0)
        task = taken[0]
        if task >= tasks:
            break
        window.Put(array("d", [worth(task)]), 0, 1 + task)
        window.Flush(0)
        done += 1
    window.Unlock_all()

    by_rank = world.gather(done)
    if by_rank is not None:
        memory: Any = window.tomemory()
        results = memoryview(memory).cast("d")[1:]
        right = sum(result == worth(task) for task, result in enumerate(results))
        print(f"{right} of {tasks} results are right, {sum(by_rank)} tasks were done")
    window.Free()


if __name__ == "__main__":
    main()
