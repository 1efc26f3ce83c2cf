"""The random numbers of the NAS Parallel Benchmarks: x' = 5^13 x mod 2^46, many at a time."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

MULTIPLIER = 5**13
MASK = (1 << 46) - 1
LANES = 1 << 12

Uniform = NDArray[np.float64]


def skipped(seed: int, count: int) -> int:
    """Return the state after so many numbers.

    >>> skipped(314159265, 2) == MULTIPLIER**2 * 314159265 & MASK
    True
    """
    return pow(MULTIPLIER, count, 1 << 46) * seed & MASK


@cache
def _powers() -> NDArray[np.uint64]:
    return np.array([skipped(1, lane + 1) for lane in range(LANES)], np.uint64)


def uniform(seed: int, count: int) -> Uniform:
    """Return the next numbers after a state, between 0 and 1.

    The product of two numbers of 46 bits wraps modulo 2^64, which keeps its low 46 bits right.
    """
    lanes = min(LANES, count)
    factors = _powers()[:lanes]
    rows = -(-count // lanes)
    begins = np.empty(rows, np.uint64)
    state, stride = seed, pow(MULTIPLIER, lanes, 1 << 46)
    for row in range(rows):
        begins[row] = state
        state = state * stride & MASK
    states = begins[:, None] * factors & np.uint64(MASK)
    return states.ravel()[:count].astype(np.float64) * 2.0**-46
