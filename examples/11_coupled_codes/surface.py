"""What both coupled codes share: the surface, its division among ranks, and its physics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CELLS = 30
STEPS = 10
AIR = 280.0


def warm_spot() -> NDArray[np.float64]:
    """Return the temperature of the whole surface at the beginning."""
    distance = (np.arange(CELLS, dtype=np.float64) - 12.0) / 4.0
    return np.asarray(285.0 + 10.0 * np.exp(-(distance**2)), dtype=np.float64)


def stretch(rank: int, size: int) -> tuple[int, int]:
    """Return the first cell of a rank and the one behind its last; no two differ by more than one.

    >>> [stretch(rank, 4) for rank in range(4)]
    [(0, 7), (7, 15), (15, 22), (22, 30)]
    """
    return CELLS * rank // size, CELLS * (rank + 1) // size


def conduct(own: NDArray[np.float64], left: float, right: float) -> NDArray[np.float64]:
    """Return the temperatures after one step of conduction."""
    padded: NDArray[np.float64] = np.concatenate([[left], own, [right]])
    around: NDArray[np.float64] = padded[:-2] + padded[2:]
    return own + 0.2 * (around - 2.0 * own)


def heat_flow(air: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much heat flows into the surface in one step."""
    return 0.1 * (air - below)


def in_one_process(steps: int = STEPS) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return surface and air as one process computes them: the reference for the coupled codes."""
    surface, air = warm_spot(), np.full(CELLS, AIR)
    for _ in range(steps):
        flux = heat_flow(air, surface)
        surface = conduct(surface, surface[0], surface[-1]) + flux
        air = air - flux
    return surface, air
