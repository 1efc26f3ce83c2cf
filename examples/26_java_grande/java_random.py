"""The random numbers of Java, many at a time: the data of two kernels are made of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FACTOR, STEP, MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
LANES = 1 << 12

States = NDArray[np.uint64]


class JavaRandom:
    """A generator with the states of `java.util.Random`.

    >>> float(JavaRandom(42).doubles(1)[0])
    0.7275636800328681
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ FACTOR) & MASK
        factors, steps = [], []
        factor, step = 1, 0
        for _ in range(LANES):
            factor, step = factor * FACTOR & MASK, (step * FACTOR + STEP) & MASK
            factors.append(factor)
            steps.append(step)
        self._factors, self._steps = np.array(factors, np.uint64), np.array(steps, np.uint64)

    def states(self, count: int) -> States:
        """Return the next states; their product with a factor wraps, which keeps the low bits."""
        begins, state = [], self._state
        for _ in range(-(-count // LANES)):
            begins.append(state)
            state = (int(self._factors[-1]) * state + int(self._steps[-1])) & MASK
        rows = np.array(begins, np.uint64)[:, None] * self._factors + self._steps
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
