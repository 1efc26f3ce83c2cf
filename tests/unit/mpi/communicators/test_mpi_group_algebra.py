"""Groups behave as sets that keep an order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.mpi.communicators.group_algebra import (
    Likeness,
    difference,
    excluded,
    included,
    intersection,
    likeness,
    ranks_of,
    translated,
    union,
)
from runtime.mpi.values.faults import ArgumentFault, Wrong

groups = st.lists(st.integers(0, 12), unique=True).map(tuple)


@given(groups, groups)
def test_set_operations_keep_the_order_of_the_first_group(
    first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    both, common = union(first, second), intersection(first, second)
    only = difference(first, second)
    assert set(both) == {*first, *second}
    assert set(common) == {*first} & {*second}
    assert set(only) == {*first} - {*second}
    assert len(both) == len(set(both))
    assert both[: len(first)] == first
    assert [index for index in first if index in common] == list(common)
    assert [index for index in first if index in only] == list(only)
    assert [index for index in second if index in both[len(first) :]] == list(both[len(first) :])


@given(groups, st.data())
def test_included_and_excluded_members_make_up_the_group(
    group: tuple[int, ...], data: st.DataObject
) -> None:
    ranks = data.draw(st.permutations(range(len(group))))
    ranks = ranks[: data.draw(st.integers(0, len(group)))]
    assert included(group, ranks) == tuple(group[rank] for rank in ranks)
    assert excluded(group, ranks) == difference(group, included(group, ranks))


@given(groups, groups)
def test_translated_ranks_name_the_same_processes(
    source: tuple[int, ...], target: tuple[int, ...]
) -> None:
    for rank, there in enumerate(translated(source, range(len(source)), target)):
        if there is None:
            assert source[rank] not in target
        else:
            assert target[there] == source[rank]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((), (), Likeness.IDENTICAL),
        ((1, 2), (1, 2), Likeness.IDENTICAL),
        ((1, 2), (2, 1), Likeness.SIMILAR),
        ((1, 2), (1, 3), Likeness.DIFFERENT),
        ((1, 2), (1, 2, 3), Likeness.DIFFERENT),
    ],
)
def test_groups_are_compared(
    first: tuple[int, ...], second: tuple[int, ...], expected: Likeness
) -> None:
    assert likeness(first, second) is expected


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], []),
        ([(0, 0, 1)], [0]),
        ([(0, 4, 2), (5, 3, -2)], [0, 2, 4, 5, 3]),
        ([(0, 3, 5)], [0]),
        ([(4, 4, -3)], [4]),
    ],
)
def test_ranges_include_their_last_rank(
    ranges: list[tuple[int, int, int]], expected: list[int]
) -> None:
    assert ranks_of(ranges) == expected


@pytest.mark.parametrize("wrong", [(0, 1, 0), (1, 0, 1), (0, 1, -1)])
def test_a_range_that_does_not_lead_to_its_end_is_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ArgumentFault, match="does not lead to its last rank") as caught:
        ranks_of([wrong])
    assert caught.value.wrong is Wrong.ARGUMENT


@pytest.mark.parametrize("ranks", [[2], [-1], [0, 0]])
def test_a_rank_that_is_not_there_or_comes_twice_is_refused(ranks: list[int]) -> None:
    for operation in (included, excluded):
        with pytest.raises(ArgumentFault, match=f"rank {ranks[-1]} is") as caught:
            operation((7, 8), ranks)
        assert caught.value.wrong is Wrong.RANK


def test_a_rank_outside_the_group_is_not_translated() -> None:
    with pytest.raises(ArgumentFault, match="rank 2 is not between 0 and 1"):
        translated((7, 8), [2], (7,))
