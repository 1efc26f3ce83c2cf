from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.interfaces.policies.blocks import BlockTransfer, block_bounds, exchange_plan

SMALL = st.integers(0, 200)
PARTS = st.integers(1, 17)


@given(SMALL, PARTS)
def test_blocks_are_those_of_array_split(length: int, parts: int) -> None:
    expected = np.array_split(np.arange(length), parts)
    bounds = block_bounds(length, parts)
    assert [list(range(*bound)) for bound in bounds] == [block.tolist() for block in expected]


@pytest.mark.parametrize(("length", "parts"), [(-1, 1), (1, 0), (5, -2)])
def test_impossible_splits_are_refused(length: int, parts: int) -> None:
    with pytest.raises(ValueError, match=f"^cannot split {length} elements into {parts} blocks$"):
        block_bounds(length, parts)


def plan_of(length: int, sources: int, targets: int) -> tuple[BlockTransfer, ...]:
    return exchange_plan(block_bounds(length, sources), block_bounds(length, targets))


def test_blocks_of_any_length_exchange_also_empty_ones() -> None:
    givers = [(0, 0), (0, 2), (2, 2), (2, 7)]
    assert exchange_plan(givers, [(0, 4), (4, 4), (4, 7)]) == (
        BlockTransfer(1, 0, slice(0, 2), slice(0, 2), 0, 2),
        BlockTransfer(3, 0, slice(0, 2), slice(2, 4), 2, 4),
        BlockTransfer(3, 2, slice(2, 5), slice(0, 3), 4, 7),
    )


def test_the_plan_of_a_small_exchange() -> None:
    assert plan_of(5, 2, 3) == (
        BlockTransfer(0, 0, slice(0, 2), slice(0, 2), 0, 2),
        BlockTransfer(0, 1, slice(2, 3), slice(0, 1), 2, 3),
        BlockTransfer(1, 1, slice(0, 1), slice(1, 2), 3, 4),
        BlockTransfer(1, 2, slice(1, 2), slice(0, 1), 4, 5),
    )


def test_nothing_travels_of_nothing_and_equal_splits_travel_straight() -> None:
    assert plan_of(0, 3, 4) == ()
    assert [(one.source, one.target) for one in plan_of(7, 3, 3)] == [(0, 0), (1, 1), (2, 2)]


def test_empty_blocks_take_no_part() -> None:
    assert [(one.source, one.target) for one in plan_of(2, 5, 1)] == [(0, 0), (1, 0)]


@given(SMALL, PARTS, PARTS)
def test_an_exchange_carried_out_rebuilds_every_element_exactly_once(
    length: int, sources: int, targets: int
) -> None:
    whole = np.arange(length)
    given_blocks = np.array_split(whole, sources)
    taken_blocks = [np.full(len(block), -1) for block in np.array_split(whole, targets)]
    written = np.zeros(length, dtype=int)
    for one in plan_of(length, sources, targets):
        assert one.start < one.stop
        block = given_blocks[one.source][one.source_slice]
        assert block.tolist() == list(range(one.start, one.stop))
        taken_blocks[one.target][one.target_slice] = block
        written[one.start : one.stop] += 1
    assert np.concatenate(taken_blocks).tolist() == whole.tolist()
    assert (written == 1).all()


@given(SMALL, PARTS, PARTS)
def test_an_exchange_has_no_more_transfers_than_blocks_on_both_sides(
    length: int, sources: int, targets: int
) -> None:
    plan = plan_of(length, sources, targets)
    assert len(plan) <= max(0, min(length, sources) + min(length, targets) - 1)
    assert len({(one.source, one.target) for one in plan}) == len(plan)
