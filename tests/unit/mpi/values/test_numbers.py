"""What a number is: what mpi4py says it is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from mpi4py import MPI

from runtime.mpi.values.numbers import count, counts, entries, entry, integer, is_integral


class Index:
    """A number that is an index only."""

    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize(
    "number", [2, 2.7, 2.0, np.float64(2.5), np.int64(2), Decimal("2.5"), Fraction(5, 2)]
)
def test_a_number_is_rounded_towards_zero(number: Any) -> None:
    assert integer(number) == 2
    assert type(integer(number)) is int
    assert integer(-number) == -2


@pytest.mark.parametrize(
    ("number", "error"),
    [
        ("2", TypeError),
        (None, TypeError),
        ([2], TypeError),
        (2j, TypeError),
        (Index(), TypeError),
        (float("nan"), ValueError),
        (float("inf"), OverflowError),
        (1 << 31, OverflowError),
        (-(1 << 31) - 1, OverflowError),
    ],
)
def test_what_mpi4py_refuses_is_refused_with_the_same_words(
    number: Any, error: type[Exception]
) -> None:
    with pytest.raises(error) as mine:
        integer(number)
    with pytest.raises(error) as theirs:
        MPI.COMM_SELF.Split(0, number)
    assert str(mine.value) == str(theirs.value)


@given(some.integers(-(1 << 31), (1 << 31) - 1))
def test_every_int_of_c_is_a_number(number: int) -> None:
    assert integer(number) == entry(number) == number


@pytest.mark.parametrize("number", [3, True, np.int64(3), np.array(3), Index()])
def test_entries_of_lists_have_to_be_integers(number: Any) -> None:
    assert is_integral(number)
    assert entries([number]) == counts((number,), 1) == [number.__index__()]


@pytest.mark.parametrize("number", [3.0, np.float64(3), "3", None, Decimal(3)])
def test_entries_that_are_none_are_refused(number: Any) -> None:
    assert not is_integral(number)
    for read in (entry, count, lambda one: entries([one]), lambda one: counts([one], 1)):
        with pytest.raises(TypeError):
            read(number)


def test_sequences_have_a_length_and_places() -> None:
    assert entries(range(3)) == entries(np.arange(3)) == entries((0, 1, 2), 3) == [0, 1, 2]
    assert not any(map(is_integral, ([3], (3,), np.array([3]))))
    with pytest.raises(ValueError, match="expecting 2 items, got 3"):
        entries(range(3), 2)
    for wrong in (iter([1]), {1}, 1):
        with pytest.raises(TypeError):
            entries(wrong)


def test_counts_may_be_larger_than_ranks() -> None:
    assert count(1 << 40) == 1 << 40
    with pytest.raises(OverflowError):
        entry(1 << 40)
    with pytest.raises(OverflowError):
        count(1 << 63)
