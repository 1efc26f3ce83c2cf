"""Darts thrown at a square: the share that hits the circle inside it estimates pi."""

from __future__ import annotations

import sys

import numpy as np

TRIES = 200_000
"""How many darts each process throws unless the command line says how many all of them throw."""
BLOCK = 1 << 20
"""How many of them are in memory at a time."""


def tries_of(processes: int) -> int:
    """Return how many darts each process throws: an equal share of the first argument."""
    return int(float(sys.argv[1])) // processes if len(sys.argv) > 1 else TRIES


def hits(tries: int, seed: int) -> int:
    """Throw darts at the unit square; return how many fall into the quarter of a circle."""
    dice, inside = np.random.default_rng(seed), 0
    for begun in range(0, tries, BLOCK):
        x, y = dice.random((2, min(BLOCK, tries - begun)))
        inside += int(np.count_nonzero(x * x + y * y < 1))
    return inside


def verdict(estimate: float, tries: int) -> str:
    """Return whether an estimate of pi is as good as expected from that many tries."""
    return "right" if abs(estimate - np.pi) < 6 / np.sqrt(tries) else "wrong"
