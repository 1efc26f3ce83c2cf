"""The kernels of the Java Grande Forum, section 2: series, sor, sparse, lufact, crypt.

    python examples/26_java_grande/kernels.py
    mpiexec -n 4 python examples/26_java_grande/kernels.py series sor
    gcm-deploy --emulate 2x2 examples/26_java_grande/kernels.py --size B

Each one is verified as the original verifies it: against published sums, the residual of a solved
system, or by decrypting again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping

import numpy as np
from idea import KNOWN_CIPHER, KNOWN_KEY, KNOWN_PLAIN, crypt, decryption_keys, encryption_keys
from java_random import JavaRandom, absolute_integers_of, doubles_of
from mpi4py import MPI
from numpy.typing import NDArray

Array = NDArray[np.float64]

WORLD = MPI.COMM_WORLD
SEED = 10101010


def share(total: int) -> tuple[int, int]:
    """Return the first and the last, exclusively, of what this rank does."""
    return total * WORLD.rank // WORLD.size, total * (WORLD.rank + 1) // WORLD.size


def series(size: int) -> bool:
    """Compute the Fourier coefficients of (x + 1)^x from 0 to 2 by the trapezoid rule.

    The original leaves out the last point but one, and so do the sums that it published.
    """
    count = (10_000, 100_000, 1_000_000)[size]
    x = np.delete(np.linspace(0, 2, 1001), -2)
    weights = (x + 1) ** x * 0.002
    weights[[0, -1]] /= 2
    first, last = share(count)
    found = np.empty((2, last - first))
    for number in range(first, last):
        angle = np.pi * number * x
        found[0, number - first] = weights @ np.cos(angle)
        found[1, number - first] = weights @ np.sin(angle)
    everything = WORLD.gather(found)
    if everything is None:
        return True
    coefficients = np.concatenate(everything, axis=1)
    coefficients[:, 0] /= 2, 1
    published = [[2.8729524964837996, 1.1161046676147888, 0.34429060398168704, 0.15238898702519288],
                 [0.0, -1.8819691893398025, -1.1645642623320958, -0.8143461113044298]]  # fmt: skip
    return bool(np.abs(coefficients[:, :4] - published).max() < 1e-12)


def sor(size: int) -> bool:
    """Relax a random square a hundred times, red and black; ranks exchange rows after each half."""
    side = (1000, 1500, 2000)[size]
    first, last = share(side)
    square = JavaRandom(SEED).doubles(side * side).reshape(side, side) * 1e-6
    mine = np.zeros((last - first + 2, side))
    low, high = max(first - 1, 0), min(last + 1, side)
    mine[low - first + 1 : high - first + 1] = square[low:high]
    before = WORLD.rank - 1 if WORLD.rank else MPI.PROC_NULL
    after = WORLD.rank + 1 if WORLD.rank + 1 < WORLD.size else MPI.PROC_NULL
    rows, columns = np.arange(first, last)[:, None], np.arange(1, side - 1)
    is_inside = (rows > 0) & (rows < side - 1)
    colours = [is_inside & ((rows + columns) % 2 == colour) for colour in range(2)]
    for _ in range(100):
        for colour in colours:
            inner = mine[1:-1, 1:-1]
            around = mine[:-2, 1:-1] + mine[2:, 1:-1] + mine[1:-1, :-2] + mine[1:-1, 2:]
            inner[:] = np.where(colour, 1.25 / 4 * around - 0.25 * inner, inner)
            WORLD.Sendrecv(mine[1], before, recvbuf=mine[-1], source=after)
            WORLD.Sendrecv(mine[-2], after, recvbuf=mine[0], source=before)
    total = WORLD.allreduce(float(np.sum(mine[1:-1, 1:-1] * is_inside)))
    published = (0.498574406322512, 1.1234778980135105, 1.9954895063582696)[size]
    return bool(abs(total - published) < 1e-10)


def sparse(size: int) -> bool:
    """Multiply a sparse matrix with a vector two hundred times."""
    side, count = ((50_000, 250_000), (100_000, 500_000), (500_000, 2_500_000))[size]
    random = JavaRandom(SEED)
    x = random.doubles(side) * 1e-6
    states = random.states(4 * count).reshape(-1, 4)
    row, column = (absolute_integers_of(states[:, one].copy()) % side for one in range(2))
    value = doubles_of(states[:, 2:].ravel())
    first, last = share(count)
    y, part = np.zeros(side), slice(first, last)
    for _ in range(200):
        y += np.bincount(row[part], x[column[part]] * value[part], side)
    total = np.empty_like(y)
    WORLD.Allreduce(y, total)
    published = (75.02484945753453, 150.0130719633895, 749.5245870753752)[size]
    return abs(float(total[row].sum()) - published) < 1e-9


def lufact(size: int) -> bool:
    """Factorise a matrix whose columns are dealt to ranks; check the residual of a solution."""
    n = (500, 1000, 2000)[size]
    state, numbers = 1325, np.empty(n * n)
    for index in range(n * n):
        state = 3125 * state % 65536
        numbers[index] = (state - 32768) / 16384
    matrix = numbers.reshape(n, n).T.copy()
    right = matrix.sum(axis=1)
    own = np.arange(WORLD.rank, n, WORLD.size)
    mine, factors, solution = matrix[:, own], np.empty((n, n)), right.copy()
    for k in range(n):
        column = np.empty(n)
        if k % WORLD.size == WORLD.rank:
            column[:] = mine[:, k // WORLD.size]
        WORLD.Bcast(column, k % WORLD.size)
        pivot = k + int(np.abs(column[k:]).argmax())
        for rows in (column, solution, mine):
            rows[[k, pivot]] = rows[[pivot, k]]
        column[k + 1 :] /= column[k]
        mine[k + 1 :, own > k] -= np.outer(column[k + 1 :], mine[k, own > k])
        solution[k + 1 :] -= column[k + 1 :] * solution[k]
        factors[:, k] = column
    for k in range(n - 1, -1, -1):
        solution[k] /= factors[k, k]
        solution[:k] -= factors[:k, k] * solution[k]
    residual = np.abs(matrix @ solution - right).max()
    scale = n * np.abs(matrix).max() * np.abs(solution).max() * np.finfo(float).eps
    return bool(residual / scale <= (6.0, 12.0, 20.0)[size])


def idea(size: int) -> bool:
    """Encrypt bytes with IDEA and decrypt them; the cipher itself is compared with a known text."""
    count = (3_000_000, 20_000_000, 50_000_000)[size]
    keys = encryption_keys(KNOWN_KEY)
    is_known = crypt(np.array([KNOWN_PLAIN]), keys).tolist() == [KNOWN_CIPHER]
    first, last = share(count // 8)
    plain = np.random.default_rng(WORLD.rank).integers(0, 1 << 16, (last - first, 4))
    again = crypt(crypt(plain, keys), decryption_keys(keys))
    return bool(WORLD.allreduce(int(is_known and np.array_equal(plain, again)), MPI.MIN))


KERNELS = {"series": series, "sor": sor, "sparse": sparse, "lufact": lufact, "crypt": idea}


def run(programs: Mapping[str, Callable[[int], bool]], sizes: str) -> int:
    """Run the programs that the command line names, verify them; return the exit code."""
    parser = argparse.ArgumentParser(description="Programs of the Java Grande Forum.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(programs))
    parser.add_argument("--size", choices=sizes, default="A")
    options = parser.parse_args()
    is_right = True
    for name in options.names or programs:
        WORLD.Barrier()
        begun = time.perf_counter()
        verified = programs[name](sizes.index(options.size))
        seconds = WORLD.allreduce(time.perf_counter() - begun, MPI.MAX)
        if WORLD.rank == 0:
            is_right &= verified
            verdict = "verified" if verified else "WRONG"
            print(
                f"{name} size {options.size}, {WORLD.size} ranks: {verdict}; {seconds:.4f} s",
                flush=True,
            )
    return 0 if is_right else 1


def main() -> int:
    """Run kernels and verify them; return the exit code."""
    return run(KERNELS, sizes="ABC")


if __name__ == "__main__":
    sys.exit(main())
