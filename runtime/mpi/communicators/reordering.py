"""Assigns processes to the cells of a Cartesian shape, so that neighbours share a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, permutations, product
from typing import TypeAlias

from runtime.mpi.communicators.shapes import Cartesian

Home: TypeAlias = tuple[int, int]
"""Site and cluster of a process."""

Cell: TypeAlias = tuple[int, ...]

_MOST_ORDERS = 24
"""How many orders of the dimensions are tried: all of up to four dimensions."""


def rearranged(shape: Cartesian, homes: Sequence[Home]) -> list[int]:
    """Return the new rank of each process, given the place of each process by old rank.

    It chooses the arrangement with the fewest pairs of neighbours at different sites, and among
    those the fewest in different clusters, and keeps the old order unless one is better. The result
    depends on nothing else, so all members compute the same.

    >>> rearranged(Cartesian((2, 4), (False, False)), [(0, 0)] * 4 + [(0, 1)] * 4)
    [0, 1, 4, 5, 2, 3, 6, 7]
    """
    together = sorted(range(len(homes)), key=homes.__getitem__)
    pairs = _pairs(shape)
    best = list(range(len(homes)))
    least = _counted(pairs, homes)
    for cells in _orders(shape, [homes[old] for old in together]):
        new_ranks = [0] * len(homes)
        for old, cell in zip(together, cells, strict=True):
            new_ranks[old] = shape.rank(cell)
        cost = _counted(pairs, _by_new_rank(new_ranks, homes))
        if cost < least:
            best, least = new_ranks, cost
    return best


def crossings(shape: Cartesian, homes: Sequence[Home]) -> tuple[int, int]:
    """Count the pairs of neighbours at different sites, and those in different clusters."""
    return _counted(_pairs(shape), homes)


def _pairs(shape: Cartesian) -> list[tuple[int, int]]:
    return [
        (rank, behind)
        for rank in range(shape.size)
        for behind in shape.neighbours(rank)[1::2]
        if behind is not None
    ]


def _counted(pairs: list[tuple[int, int]], homes: Sequence[Home]) -> tuple[int, int]:
    apart = [(homes[one], homes[other]) for one, other in pairs if homes[one] != homes[other]]
    return sum(one[0] != other[0] for one, other in apart), len(apart)


def _by_new_rank(new_ranks: Sequence[int], homes: Sequence[Home]) -> list[Home]:
    placed = list(homes)
    for old, new in enumerate(new_ranks):
        placed[new] = homes[old]
    return placed


def _orders(shape: Cartesian, homes: Sequence[Home]) -> Iterator[list[Cell]]:
    """Yield orders of the cells; processes of one place get consecutive cells of an order."""
    cells = list(product(*map(range, shape.dims)))
    sites = [
        [len(list(same)) for _, same in groupby(members)]
        for _, members in groupby(homes, key=lambda home: home[0])
    ]
    for order in islice(permutations(range(len(shape.dims))), _MOST_ORDERS):
        yield sorted(cells, key=lambda cell, order=order: [cell[number] for number in order])  # type: ignore[misc]  # mypy cannot see the type of a default
        yield _boxes(cells, sites, order)


def _boxes(cells: list[Cell], sites: list[list[int]], order: Sequence[int]) -> list[Cell]:
    """Return the cells cut into boxes for the sites, and into boxes for their clusters."""
    found: list[Cell] = []
    for clusters, of_site in zip(sites, _cut(cells, list(map(sum, sites)), order), strict=True):
        for box in _cut(of_site, clusters, order):
            found.extend(sorted(box))
    return found


def _cut(cells: list[Cell], sizes: list[int], order: Sequence[int]) -> list[list[Cell]]:
    """Cut cells in two across their longest dimension, recursively until each size has its part."""
    if len(sizes) == 1:
        return [cells]
    half = len(sizes) // 2
    longest = max(order, key=lambda number: len({cell[number] for cell in cells}))
    along = [longest, *(number for number in order if number != longest)]
    ordered = sorted(cells, key=lambda cell: [cell[number] for number in along])
    here = sum(sizes[:half])
    return _cut(ordered[:here], sizes[:half], order) + _cut(ordered[here:], sizes[half:], order)
