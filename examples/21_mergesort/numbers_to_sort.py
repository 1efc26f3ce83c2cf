"""What all versions of mergesort share: the numbers, merging of sorted rows, and the check."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.int64]

SIZE = 200_000
"""How many numbers are sorted unless the command line says otherwise."""


def size_wanted() -> int:
    """Return the first argument of the command line, such as 1e7."""
    return int(float(sys.argv[1])) if len(sys.argv) > 1 else SIZE


def unsorted(size: int) -> Row:
    """Return that many numbers of 64 bits, the same ones every time."""
    return np.random.default_rng(7).integers(-(1 << 62), 1 << 62, size)


def merge(first: Row, second: Row) -> Row:
    """Return one sorted row with the numbers of two sorted rows."""
    merged = np.empty(len(first) + len(second), np.int64)
    from_second = np.zeros(len(merged), np.bool_)
    from_second[np.searchsorted(first, second, side="right") + np.arange(len(second))] = True
    merged[from_second] = second
    merged[~from_second] = first
    return merged


def shares(size: int, weights: list[int]) -> list[int]:
    """Divide a number of things by weights; the first ones get the remainder."""
    total = sum(weights)
    counts = [size * weight // total for weight in weights]
    for index in range(size - sum(counts)):
        counts[index] += 1
    return counts


def report(result: Row, size: int, processes: Any, begun: float) -> int:
    """Print whether the numbers are sorted and all there; return the exit code."""
    seconds = time.perf_counter() - begun
    right = np.array_equal(result, np.sort(unsorted(size)))
    verdict = "right" if right else "wrong"
    print(f"{size} numbers sorted by {processes} processes: {verdict}; {seconds:.4f} s")
    return 0 if right else 1
