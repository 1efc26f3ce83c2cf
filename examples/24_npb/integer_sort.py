"""NPB IS, integer sort: ten rankings of keys by buckets, with allreduce, alltoall and alltoallv.

    mpiexec -n 4 python examples/24_npb/integer_sort.py S
    gcm-deploy --emulate 2x2 examples/24_npb/integer_sort.py W          classes S, W, A

In each iteration the ranks of five keys are compared with the published ones (NPB 3.2, is.c); at
the end the keys are sorted and looked through. Each process owns a range of buckets.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from random_numbers import skipped, uniform

Keys = NDArray[np.int32]

SEED, ITERATIONS, BLOCK = 314159265, 10, 1 << 18


@dataclass(frozen=True)
class Class:
    """A problem: its keys, as powers of two, and where five of them lie in the sorted row.

    Each iteration changes two keys. So the ranks of the first `rising` keys grow from one to the
    next, from a shift of 1 - `late`, and those of the others shrink.
    """

    keys: int
    largest: int
    places: tuple[int, ...]
    ranks: tuple[int, ...]
    rising: int = 3
    late: tuple[int, int] = (0, 0)

    def rank(self, number: int, iteration: int) -> int:
        """Return the published rank of one of the five keys."""
        if number < self.rising:
            return self.ranks[number] + iteration - self.late[0]
        return self.ranks[number] - iteration + self.late[1]


CLASSES = {
    "S": Class(16, 11, (48427, 17148, 23627, 62548, 4431), (0, 18, 346, 64917, 65463)),
    "W": Class(
        *(20, 16, (357773, 934767, 875723, 898999, 404505)),
        *((1249, 11698, 1039987, 1043896, 1048018), 2, (2, 0)),
    ),
    "A": Class(
        *(23, 19, (2112377, 662041, 5336171, 3642833, 4250760)),
        *((104, 17523, 123928, 8288932, 8388264), 3, (1, 1)),
    ),
}


def keys_of(problem: Class, first: int, last: int, seed: int) -> Keys:
    """Return keys `first` to `last`: each is the mean of four random numbers, scaled."""
    keys: Keys = np.empty(last - first, np.int32)
    for begun in range(first, last, BLOCK):
        count = min(BLOCK, last - begun)
        four = uniform(skipped(seed, 4 * begun), 4 * count).reshape(-1, 4)
        total = four[:, 0] + four[:, 1] + four[:, 2] + four[:, 3]
        keys[begun - first : begun - first + count] = (1 << problem.largest) / 4 * total
    return keys


class Sorter:
    """The keys of one process, and those of its buckets."""

    def __init__(self, world: MPI.Intracomm, problem: Class, seed: int) -> None:
        self.world, self.problem = world, problem
        total = 1 << problem.keys
        self.first = total * world.rank // world.size
        self.keys = keys_of(problem, self.first, total * (world.rank + 1) // world.size, seed)
        self.shift = max(0, problem.largest - 10)
        self.buckets = 1 << (problem.largest - self.shift)

    def rank(self) -> tuple[NDArray[np.int64], int, Keys]:
        """Send keys to the owners of their buckets.

        Returns the ranks of the values that this process owns, the first of these values, and the
        keys that came.
        """
        world, total = self.world, 1 << self.problem.keys
        bucket = self.keys >> self.shift
        mine = np.bincount(bucket, minlength=self.buckets)
        everywhere = np.empty_like(mine)
        world.Allreduce(mine, everywhere)
        before = np.cumsum(everywhere)
        # a bucket belongs to the process in whose share of all keys its last key lies
        owner = np.minimum((before - 1).clip(0) * world.size // total, world.size - 1)
        edges = np.searchsorted(owner, np.arange(world.size + 1))
        sent = np.add.reduceat(np.append(mine, 0), edges[:-1]) * (edges[1:] > edges[:-1])
        received = np.empty_like(sent)
        world.Alltoall(sent, received)
        arrived: Keys = np.empty(received.sum(), np.int32)
        by_bucket = self.keys[np.argsort(bucket, kind="stable")]
        world.Alltoallv([by_bucket, sent], [arrived, received])
        low, high = edges[world.rank] << self.shift, edges[world.rank + 1] << self.shift
        counts = np.bincount(arrived - low, minlength=high - low)
        smaller = int(before[edges[world.rank] - 1]) if edges[world.rank] else 0
        ranks: NDArray[np.int64] = smaller + np.cumsum(counts) - counts
        return ranks, int(low), arrived

    def change(self, iteration: int) -> None:
        """Change two keys, as each iteration does."""
        if self.world.rank == 0:
            self.keys[iteration] = iteration
            self.keys[iteration + ITERATIONS] = (1 << self.problem.largest) - iteration

    def five(self) -> list[int]:
        """Return the values of the five keys whose ranks are known."""
        here = [place - self.first for place in self.problem.places]
        mine = [int(self.keys[one]) if 0 <= one < len(self.keys) else -1 for one in here]
        values: NDArray[np.int64] = np.empty(5, np.int64)
        self.world.Allreduce(np.array(mine), values, MPI.MAX)
        return [int(one) for one in values]

    def count_right(self, iteration: int, ranks: NDArray[np.int64], low: int) -> int:
        """Return how many of the five keys are here, and have the published rank."""
        return sum(
            int(ranks[value - low]) == self.problem.rank(number, iteration)
            for number, value in enumerate(self.values)
            if low <= value < low + len(ranks)
        )

    def run(self) -> tuple[int, bool, float]:
        """Rank ten times; return how many ranks are right, whether all is sorted, and seconds."""
        right = 0
        *_, arrived = self.rank()  # buffers and connections are made before the clock runs
        self.world.Barrier()
        begun = time.perf_counter()
        for iteration in range(1, ITERATIONS + 1):
            self.change(iteration)
            self.values = self.five()
            ranks, low, arrived = self.rank()
            right += self.count_right(iteration, ranks, low)
        seconds = time.perf_counter() - begun
        arrived.sort()
        ends = self.world.allgather((int(arrived[0]), int(arrived[-1])) if len(arrived) else None)
        edges = [value for pair in ends if pair for value in pair]
        total = self.world.allreduce(len(arrived))
        is_sorted = edges == sorted(edges) and total == 1 << self.problem.keys
        return self.world.allreduce(right), is_sorted, self.world.allreduce(seconds, MPI.MAX)


def main() -> int:
    """Sort, verify; return the exit code."""
    world = MPI.COMM_WORLD
    name = sys.argv[1] if len(sys.argv) > 1 else "S"
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    right, is_sorted, seconds = Sorter(world, CLASSES[name], seed).run()
    is_right = right == 5 * ITERATIONS and is_sorted
    if world.rank == 0:
        verdict = "verified" if is_right else "WRONG"
        print(
            f"IS class {name}: {right} of {5 * ITERATIONS} ranks right, "
            f"{'sorted' if is_sorted else 'not sorted'}, {world.size} ranks: {verdict}; "
            f"{seconds:.4f} s"
        )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
