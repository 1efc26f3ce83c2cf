"""What C receives of the values that a program in Python has sent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from runtime.mpi.from_c.own_functions import bytes_of


@pytest.mark.parametrize(
    ("value", "datatype", "received"),
    [
        (1 << 24, MPI.FLOAT, [1 << 24]),
        (1 << 60, MPI.DOUBLE, [1 << 60]),
        (0.1, MPI.FLOAT, [float(np.float32(0.1))]),
        ([1, math.inf], MPI.FLOAT, [1, math.inf]),
        ([1, 2], MPI.UNSIGNED, [1, 2]),
        (1 << 63, MPI.UINT64_T, [1 << 63]),
        (True, MPI.INT, [1]),
        (np.arange(3), MPI.DOUBLE, [0, 1, 2]),
        (np.arange(3, dtype=">i4"), MPI.INT, [0, 1, 2]),
        (np.array([[1.5], [math.inf]], "f4"), MPI.DOUBLE, [1.5, math.inf]),
    ],
)
def test_what_loses_nothing_is_received(
    value: Any, datatype: MPI.Datatype, received: list[Any]
) -> None:
    data = bytes_of(value, datatype, "a message")
    assert np.frombuffer(data, datatype.tocode()).tolist() == received


@pytest.mark.parametrize(
    ("value", "datatype"),
    [
        ((1 << 24) + 1, MPI.FLOAT),
        ((1 << 60) + 1, MPI.DOUBLE),
        (np.array([0, (1 << 60) + 1]), MPI.DOUBLE),
        (1e300, MPI.FLOAT),
        ([1, -2], MPI.UNSIGNED),
        (1 << 40, MPI.INT),
        (1 << 64, MPI.UINT64_T),
        (0.5, MPI.INT),
        (np.arange(3, dtype="i8"), MPI.INT),
        (np.array([0.1]), MPI.FLOAT),
        ("text", MPI.INT),
    ],
)
def test_what_would_be_changed_is_an_error(value: Any, datatype: MPI.Datatype) -> None:
    with pytest.raises(MPI.Exception, match=f"a message has .*, and {datatype.name} is") as raised:
        bytes_of(value, datatype, "a message")
    assert raised.value.Get_error_class() == MPI.ERR_TYPE
