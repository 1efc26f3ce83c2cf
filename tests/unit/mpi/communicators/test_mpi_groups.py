"""Groups with members elsewhere, seen by process 2, which is with process 3 in its cluster.

Native MPI knows only this process, so the engine says that it is alone in its cluster.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from runtime.mpi.communicators.groups import Group, group_of, members_of, spans_clusters
from runtime.mpi.progress.engine import Engine

ME = 2
engine = Engine(ME, ME, ME + 1)
members = st.lists(st.integers(0, 4), unique=True).map(tuple)


def group(*indexes: int) -> Group:
    return group_of(engine, indexes)


def here(one: MPI.Group) -> tuple[int, ...]:
    return members_of(one, engine)


@given(members, members)
def test_operations_of_groups_are_those_of_their_members(
    first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    one, two = group(*first), group(*second)
    assert here(one.Dup()) == first
    assert here(Group.Union(one, two)) == first + tuple(i for i in second if i not in first)
    assert here(Group.Intersection(one, two)) == tuple(i for i in first if i in second)
    assert here(Group.Intersect(one, two)) == here(Group.Intersection(one, two))
    assert here(Group.Difference(one, two)) == tuple(i for i in first if i not in second)
    assert one.Compare(two) == compared(first, second)


def compared(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    if first == second:
        return int(MPI.IDENT)
    return int(MPI.SIMILAR if set(first) == set(second) else MPI.UNEQUAL)


@given(members)
def test_size_and_rank_come_from_the_members(indexes: tuple[int, ...]) -> None:
    one: MPI.Group = group(*indexes)
    assert one.size == one.Get_size() == len(indexes)
    assert one.Get_rank() == (indexes.index(ME) if ME in indexes else MPI.UNDEFINED)
    assert spans_clusters(one) == bool(set(indexes) - {ME})


def test_groups_work_together_with_native_ones() -> None:
    one = group(4, ME)
    own: Any = MPI.COMM_SELF.Get_group()
    assert here(Group.Union(MPI.GROUP_EMPTY, one)) == (4, ME)
    assert here(Group.Union(own, one)) == (ME, 4)
    assert here(Group.Difference(one, own)) == (4,)
    common = Group.Intersection(one, own)
    assert not spans_clusters(common)
    assert common.Compare(own) == MPI.IDENT
    assert Group.Compare(own, one) == MPI.UNEQUAL
    assert one.Translate_ranks([1, 0], own) == [0, MPI.UNDEFINED]
    assert Group.Translate_ranks(own, [0], one) == [1]


def test_a_group_left_without_members_is_the_empty_one() -> None:
    one = group(0, ME, 4)
    for empty in (one.Incl([]), one.Range_incl([]), Group.Difference(one, one)):
        assert empty == MPI.GROUP_EMPTY
        assert empty.Compare(MPI.GROUP_EMPTY) == MPI.IDENT


def test_a_group_of_strangers_is_neither_null_nor_empty() -> None:
    one = group(0, 4)
    assert one
    assert one not in (MPI.GROUP_NULL, MPI.GROUP_EMPTY)


def test_members_are_chosen_by_rank_and_by_ranges() -> None:
    one = group(0, 1, ME, 3, 4)
    assert here(one.Incl([4, 0])) == (4, 0)
    assert here(one.Excl([4, 0])) == (1, ME, 3)
    assert here(one.Range_incl([(4, 0, -2)])) == (4, ME, 0)
    assert here(one.Range_excl([(0, 4, 2)])) == (1, 3)


def test_ranks_are_translated_and_nobody_stays_nobody() -> None:
    one, two = group(0, ME, 4), group(4, 3, ME)
    assert one.Translate_ranks([0, 1, 2, MPI.PROC_NULL], two) == [
        MPI.UNDEFINED,
        2,
        0,
        MPI.PROC_NULL,
    ]
    assert one.Translate_ranks(group=one) == [0, 1, 2]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda one: one.Incl([3]), MPI.ERR_RANK),
        (lambda one: one.Excl([-1]), MPI.ERR_RANK),
        (lambda one: one.Range_incl([(0, 1, 0)]), MPI.ERR_ARG),
        (lambda one: one.Translate_ranks([3], one), MPI.ERR_RANK),
        (lambda one: one.Translate_ranks([0], MPI.GROUP_NULL), MPI.ERR_GROUP),
        (lambda one: Group.Union(one, MPI.GROUP_NULL), MPI.ERR_GROUP),
    ],
)
def test_wrong_arguments_raise_the_errors_of_mpi(
    wrong: Callable[[Group], object], error: int
) -> None:
    with pytest.raises(MPI.Exception) as caught:
        wrong(group(0, ME, 4))
    assert caught.value.Get_error_class() == error


def test_what_is_no_group_is_refused() -> None:
    with pytest.raises(TypeError, match="expecting a group, not int"):
        Group.Union(group(0, ME), 3)  # type: ignore[arg-type]  # that is the point


def test_a_copy_has_the_same_members_and_a_freed_group_none() -> None:
    one = group(0, ME)
    assert here(Group(one)) == (0, ME)
    one.Free()
    assert one == MPI.GROUP_NULL
    assert not spans_clusters(one)


def test_groups_cannot_be_pickled_unless_they_were_there_from_the_start() -> None:
    with pytest.raises(ValueError, match="cannot serialize"):
        pickle.dumps(group(0, ME))
    with pytest.raises(ValueError, match="cannot serialize"):
        pickle.dumps(group(0, 4))
    assert pickle.loads(pickle.dumps(Group(MPI.GROUP_EMPTY))) == MPI.GROUP_EMPTY
    assert Group() == MPI.GROUP_NULL


def test_native_groups_count_as_groups() -> None:
    assert isinstance(MPI.GROUP_EMPTY, Group)
    assert issubclass(MPI.Group, Group)
