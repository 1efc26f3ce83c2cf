"""Darts thrown at a square: the share that hits the circle inside it estimates pi."""

from __future__ import annotations

import numpy as np

TRIES = 200_000
"""How many darts each process throws."""


def hits(tries: int, seed: int) -> int:
    """Throw darts at the unit square; return how many fall into the quarter of a circle."""
    dice = np.random.default_rng(seed)
    x, y = dice.random(tries), dice.random(tries)
    return int(np.count_nonzero(x * x + y * y < 1))


def verdict(estimate: float, tries: int) -> str:
    """Return whether an estimate of pi is as good as expected from that many tries."""
    return "right" if abs(estimate - np.pi) < 6 / np.sqrt(tries) else "wrong"
