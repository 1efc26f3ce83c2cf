"""Deterministic shuffling: the same picture must always come out the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

PRIME = 65_537
"""A Fermat prime: all odd powers permute the numbers below it."""


def shuffled(values: Sequence[T], seed: int) -> list[T]:
    """Return the values in an order that looks random, another one for each `seed`.

    >>> ["".join(shuffled("abcdef", seed)) for seed in (0, 1, 2)]
    ['dbefac', 'ecafdb', 'cfeadb']
    """
    places = range(len(values))
    return [values[place] for place in sorted(places, key=lambda place: _mixed(place, seed))]


def _mixed(place: int, seed: int) -> int:
    return pow(3 * place + 1000, 2 * seed + 3, PRIME)
