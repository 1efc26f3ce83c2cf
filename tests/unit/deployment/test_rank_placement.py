"""How many ranks of a cluster each node gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.deployment.reading.cluster import TooFewSlotsError, spread


@pytest.mark.parametrize(
    ("ranks", "slots", "placed"),
    [
        (None, [None, None], [1, 1]),
        (None, [4, None, 2], [4, 1, 2]),
        (5, [None, None, None], [2, 2, 1]),
        (1, [None, None], [1, 0]),
        (5, [4, 4], [4, 1]),
        (8, [4, 4], [4, 4]),
        (2, [1, None], [1, 1]),
    ],
)
def test_ranks_go_to_nodes(ranks: int | None, slots: list[int | None], placed: list[int]) -> None:
    assert spread(ranks, slots) == placed


def test_more_ranks_than_slots_are_refused() -> None:
    with pytest.raises(TooFewSlotsError) as caught:
        spread(4, [2, None])
    assert str(caught.value) == "4 ranks, but its nodes have 3 slots"


@given(st.integers(1, 50), st.lists(st.one_of(st.none(), st.integers(1, 9)), min_size=1))
def test_no_rank_is_lost(ranks: int, slots: list[int | None]) -> None:
    try:
        placed = spread(ranks, slots)
    except TooFewSlotsError:
        assert ranks > sum(1 if found is None else found for found in slots)
        return
    assert sum(placed) == ranks
    assert len(placed) == len(slots)
