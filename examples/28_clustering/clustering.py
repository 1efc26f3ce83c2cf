"""Data clustering with local weights of attributes: k-means where each cluster knows what matters.

    mpiexec -n 4 python examples/28_clustering/clustering.py
    gcm-deploy --emulate 2x2 examples/28_clustering/clustering.py 100000

Objects are divided among ranks. In each round a rank assigns its objects to the nearest centre, and
sums are reduced: so the communication does not grow with the number of objects. Each cluster weighs
attributes by how closely its objects agree in them. The data has planted clusters, each hidden in
noise but for two attributes of its own: weights have to find these two, and the planted clusters.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

CLUSTERS, ATTRIBUTES, BLOCK, ROUNDS = 4, 8, 1000, 100


def planted(first: int, last: int) -> tuple[Array, Labels]:
    """Return objects `first` to `last` in blocks, and the clusters in which they were planted."""
    rows, labels = [], []
    for number in range(first, last):
        dice = np.random.default_rng(number)
        cluster = dice.integers(0, CLUSTERS, BLOCK)
        block = dice.random((BLOCK, ATTRIBUTES))
        for own in range(2):
            near = (cluster + 0.5) / CLUSTERS if own else 1 - (cluster + 0.5) / CLUSTERS
            block[np.arange(BLOCK), 2 * cluster + own] = near + 0.01 * dice.standard_normal(BLOCK)
        rows.append(block)
        labels.append(cluster)
    return np.concatenate(rows), np.concatenate(labels)


def distances(data: Array, centres: Array, weights: Array) -> Array:
    """Return the weighted square distance of each object from each centre."""
    apart = np.stack(
        [(data - one) ** 2 @ weight for one, weight in zip(centres, weights, strict=True)]
    )
    found: Array = apart.T - np.log(weights).sum(axis=1) / 2
    return found


def main() -> int:
    """Cluster, compare with what was planted; return the exit code."""
    world = MPI.COMM_WORLD
    blocks = max(world.size, int(float(sys.argv[1])) // BLOCK if len(sys.argv) > 1 else 8)
    first, last = blocks * world.rank // world.size, blocks * (world.rank + 1) // world.size
    data, labels = planted(first, last)
    world.Barrier()
    begun = time.perf_counter()
    # one object of each cluster is known, and so roughly what matters in it
    centres = np.stack([planted(0, 1)[0][planted(0, 1)[1] == one][0] for one in range(CLUSTERS)])
    weights = np.full((CLUSTERS, ATTRIBUTES), 2.0)
    for one in range(CLUSTERS):
        weights[one, 2 * one : 2 * one + 2] = 200.0
    nearest, moved, rounds = labels, np.inf, 0
    while moved > 1e-9 and rounds < ROUNDS:
        nearest = distances(data, centres, weights).argmin(axis=1)
        sums = np.zeros((CLUSTERS, 1 + 2 * ATTRIBUTES))
        for one in range(CLUSTERS):
            own = data[nearest == one]
            sums[one] = np.concatenate(([len(own)], own.sum(axis=0), (own**2).sum(axis=0)))
        total = np.empty_like(sums)
        world.Allreduce(sums, total)
        count = np.maximum(total[:, :1], 1)
        means, squares = np.split(total[:, 1:] / count, 2, axis=1)
        moved, centres = float(np.abs(means - centres).max()), means
        weights = 0.5 / np.maximum(squares - means**2, 1e-6)
        rounds += 1
    seconds = world.allreduce(time.perf_counter() - begun, MPI.MAX)
    agreed = world.allreduce(int(np.count_nonzero(nearest == labels))) / (blocks * BLOCK)
    found = [set(np.argsort(weight)[-2:].tolist()) for weight in weights]
    is_right = agreed > 0.98 and found == [{2 * one, 2 * one + 1} for one in range(CLUSTERS)]
    if world.rank == 0:
        print(
            f"{blocks * BLOCK} objects in {CLUSTERS} clusters after {rounds} rounds, {world.size} "
            f"ranks: {agreed:.1%} as planted, {'right' if is_right else 'wrong'}; {seconds:.4f} s"
        )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
