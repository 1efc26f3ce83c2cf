"""The random numbers of Java, many at a time: the data of some programs are made of them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

FACTOR, STEP, MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
LANES = 1 << 12

States = NDArray[np.uint64]


@cache
def _jumps() -> tuple[States, States]:
    """Return the factor and the addend that lead from a state to each of those after it."""
    factors, steps = [], []
    factor, step = 1, 0
    for _ in range(LANES):
        factor, step = factor * FACTOR & MASK, (step * FACTOR + STEP) & MASK
        factors.append(factor)
        steps.append(step)
    return np.array(factors, np.uint64), np.array(steps, np.uint64)


class JavaRandom:
    """A generator with the states of `java.util.Random`.

    >>> float(JavaRandom(42).doubles(1)[0])
    0.7275636800328681
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ FACTOR) & MASK

    def states(self, count: int) -> States:
        """Return the next states; their product with a factor wraps, which keeps the low bits."""
        factors, steps = _jumps()
        begins, state = [], self._state
        for _ in range(-(-count // LANES)):
            begins.append(state)
            state = (int(factors[-1]) * state + int(steps[-1])) & MASK
        rows = np.array(begins, np.uint64)[:, None] * factors + steps
        found: States = rows.ravel()[:count] & np.uint64(MASK)
        self._state = int(found[-1])
        return found

    def doubles(self, count: int) -> NDArray[np.float64]:
        """Return what so many calls of `nextDouble` return."""
        return doubles_of(self.states(2 * count))


def doubles_of(states: States) -> NDArray[np.float64]:
    """Return the doubles that pairs of states make."""
    high, low = states[::2] >> np.uint64(22), states[1::2] >> np.uint64(21)
    numbers: NDArray[np.float64] = ((high << np.uint64(27)) + low) * 2.0**-53
    return numbers


def absolute_integers_of(states: States) -> NDArray[np.int64]:
    """Return what `Math.abs(nextInt())` makes of states."""
    return np.abs((states >> np.uint64(16)).astype(np.uint32).view(np.int32).astype(np.int64))


def gaussians(seeds: States, count: int) -> NDArray[np.float64]:
    """Return a row for each seed: what `count` calls of `nextGaussian` return, an even number.

    A pair of uniform numbers that is not in the unit circle is thrown away. A fourth of them is
    expected to be, and up to half of them may.

    >>> gaussians(np.array([42], np.uint64), 2).round(12).tolist()
    [[1.141905315473, 0.919407948983]]
    """
    factors, steps = (one[: 4 * count] for one in _jumps())
    begins = (seeds[:, None] ^ np.uint64(FACTOR)) & np.uint64(MASK)
    uniform = doubles_of((begins * factors + steps & np.uint64(MASK)).ravel())
    pairs = 2 * uniform.reshape(len(seeds), count, 2) - 1
    square = np.sum(pairs * pairs, axis=2)
    is_inside = (square < 1) & (square > 0)
    is_inside &= np.cumsum(is_inside, axis=1) <= count // 2
    square, pairs = square[is_inside], pairs[is_inside]
    found: NDArray[np.float64] = pairs * np.sqrt(-2 * np.log(square) / square)[:, None]
    return found.reshape(len(seeds), count)
