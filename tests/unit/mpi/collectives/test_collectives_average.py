"""`MPI.AVG`: exact for integers whatever their sum, one division for the rest."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

MPI = pytest.importorskip("mpi4py.MPI")
from runtime.mpi.collectives.reductions import AVG, Averaging, reduction  # noqa: E402 - needs MPI

INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def mean(columns: list[list[Any]], code: str, members: int) -> list[Any]:
    """Return the means that members with these values get."""
    averaging = Averaging(MPI.Datatype.fromcode(code), members)
    encoded = [averaging.encoded(np.array(one, code).data.cast("B")) for one in columns]
    assert all(len(one) == averaging.width * len(columns[0]) for one in encoded)
    sums = averaging.reduction.merge(encoded)
    found: list[Any] = np.frombuffer(
        averaging.decoded(memoryview(sums), len(columns)), code
    ).tolist()
    return found


@given(code=st.sampled_from(INTEGERS), members=st.integers(1, 9), data=st.data())
def test_integers_are_averaged_exactly_and_rounded_towards_zero(
    code: str, members: int, data: Any
) -> None:
    limits = np.iinfo(code)
    numbers = st.integers(int(limits.min), int(limits.max)) | st.sampled_from(
        [int(limits.min), int(limits.max)]
    )
    covered = data.draw(st.integers(1, members))
    columns = data.draw(
        st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=covered, max_size=covered)
    )
    exact = [int(Fraction(sum(row), covered)) for row in zip(*columns, strict=True)]
    assert mean(columns, code, members) == exact


@pytest.mark.parametrize(("code", "width"), [("i4", 8), ("u1", 8), ("i8", 16), ("f8", 8)])
def test_only_integers_of_64_bits_take_two_numbers(code: str, width: int) -> None:
    assert Averaging(MPI.Datatype.fromcode(code), 3).width == width


@pytest.mark.parametrize("code", ["f4", "f8", "c8", "c16"])
def test_other_numbers_are_added_and_divided_once(code: str) -> None:
    assert mean([[1, 2], [2, 5]], code, 2) == [1.5, 3.5]


@pytest.mark.parametrize("datatype", [MPI.C_BOOL, MPI.DOUBLE_INT, MPI.CHAR])
def test_what_cannot_be_added_and_divided_is_refused(datatype: Any) -> None:
    with pytest.raises(MPI.Exception) as failed:
        Averaging(datatype, 2)
    assert failed.value.Get_error_class() == MPI.ERR_OP


def test_the_operation_works_on_objects_and_stays_itself_when_pickled() -> None:
    assert AVG(2, 3) == 2.5
    assert pickle.loads(pickle.dumps(AVG)) is AVG
    assert repr(AVG) == "MPI.AVG"


def test_an_operation_that_a_datatype_does_not_have_fails_before_anything_is_sent() -> None:
    with pytest.raises(MPI.Exception) as failed:
        reduction(MPI.BAND, MPI.DOUBLE)
    assert failed.value.Get_error_class() == MPI.ERR_OP


def test_values_are_merged_from_left_to_right_and_left_as_they_are() -> None:
    def follow(left: Any, right: Any, _: Any) -> None:
        first, second = np.frombuffer(left, "i4"), np.frombuffer(right, "i4")
        second[:] = 10 * first + second

    operation = MPI.Op.Create(follow, commute=False)
    try:
        found = reduction(operation, MPI.INT32_T)
        assert not found.commutative
        blobs = [np.array([digit], "i4").tobytes() for digit in (1, 2, 3)]
        assert np.frombuffer(found.merge(blobs), "i4").tolist() == [123]
        assert [np.frombuffer(blob, "i4")[0] for blob in blobs] == [1, 2, 3]
    finally:
        operation.Free()
