"""Neighbours of a Cartesian shape get to share clusters and sites."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.mpi.communicators.reordering import Home, crossings, rearranged
from runtime.mpi.communicators.shapes import Cartesian


def crossings_after(shape: Cartesian, homes: list[Home]) -> tuple[int, int]:
    new_ranks = rearranged(shape, homes)
    placed = [homes[new_ranks.index(new)] for new in range(len(homes))]
    return crossings(shape, placed)


def test_four_clusters_of_a_square_get_a_quarter_each() -> None:
    homes = [(0, rank // 4) for rank in range(16)]
    shape = Cartesian((4, 4), (False, False))
    assert crossings(shape, homes) == (0, 12)
    assert crossings_after(shape, homes) == (0, 8)


def test_sites_come_before_clusters() -> None:
    homes = [(rank % 2, rank // 8) for rank in range(16)]
    shape = Cartesian((4, 4), (False, False))
    assert crossings_after(shape, homes) == (4, 8)


def test_processes_in_turn_are_brought_together_on_a_ring() -> None:
    homes = [(0, rank % 2) for rank in range(8)]
    shape = Cartesian((8,), (True,))
    assert crossings(shape, homes) == (0, 8)
    assert crossings_after(shape, homes) == (0, 2)


def test_an_order_that_cannot_be_bettered_is_kept() -> None:
    shape = Cartesian((4, 2), (False, False))
    assert rearranged(shape, [(0, 0)] * 4 + [(0, 1)] * 4) == list(range(8))
    assert rearranged(shape, [(0, 0)] * 8) == list(range(8))


@pytest.mark.parametrize("dims", [(6,), (2, 3), (3, 2)])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 2, 2), (1, 2, 3)])
def test_small_shapes_are_arranged_as_well_as_can_be(
    dims: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    shape = Cartesian(dims, (False,) * len(dims))
    homes = [(0, number) for number, size in enumerate(sizes) for _ in range(size)]
    best = min(crossings(shape, list(placed)) for placed in set(permutations(homes)))
    assert crossings_after(shape, homes) == best


@settings(max_examples=60)
@given(st.lists(st.integers(1, 3), max_size=3), st.booleans(), st.data())
def test_every_arrangement_is_a_permutation_that_is_no_worse(
    dims: list[int], periodic: bool, data: st.DataObject
) -> None:
    shape = Cartesian(tuple(dims), (periodic,) * len(dims))
    homes = [
        (data.draw(st.integers(0, 1)), data.draw(st.integers(0, 2))) for _ in range(shape.size)
    ]
    assert sorted(rearranged(shape, homes)) == list(range(shape.size))
    assert crossings_after(shape, homes) <= crossings(shape, homes)
