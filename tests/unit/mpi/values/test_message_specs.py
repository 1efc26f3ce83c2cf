"""Message specifications, read as mpi4py reads them."""

from __future__ import annotations

import re
from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from runtime.mpi.values.specs import Spec, read, read_vector, read_vector_w

DOUBLES = np.arange(6, dtype="d")
INTS = np.arange(6, dtype="i")


def bytes_by_mpi4py(message: Any) -> bytes:
    """Send it to ourselves with plain mpi4py."""
    request = MPI.COMM_SELF.Isend(message, 0)
    status = MPI.Status()
    found = MPI.COMM_SELF.Mprobe(status=status)
    data = bytearray(status.count)
    found.Recv([data, MPI.BYTE])
    request.Wait()
    return bytes(data)


def without_address(value: Any) -> str:
    """Name a case alike in each of several processes that run the tests."""
    return re.sub(r" at 0x\w+", "", repr(value))


@pytest.mark.parametrize(
    "message",
    [
        b"abc",
        bytearray(b"abc"),
        memoryview(b"abc"),
        array("d", [1, 2]),
        DOUBLES,
        DOUBLES.reshape(2, 3),
        np.asfortranarray(DOUBLES.reshape(2, 3)),
        DOUBLES.astype("<f4"),
        DOUBLES.astype("D"),
        np.zeros(0),
        np.array(3.0),
        [INTS, MPI.INT],
        [INTS, "i"],
        [INTS, 2],
        [INTS, (2, 3)],
        [INTS, 2, MPI.INT],
        [INTS, (2, 1), "i"],
        (INTS, 2, 3, MPI.INT),
        [INTS, None, 4, MPI.INT],
        [INTS, 0, MPI.INT],
        [None, 0, MPI.INT],
        [MPI.BOTTOM, 0, "B"],
        [None, "B"],
    ],
    ids=without_address,
)
def test_what_is_packed_is_what_mpi4py_sends(message: Any) -> None:
    assert bytes(read(message, readonly=True).pack()) == bytes_by_mpi4py(message)


@pytest.mark.parametrize(
    "message",
    [
        object(),
        None,
        7,
        "text",
        [INTS],
        [INTS, 0, 0, "i", None],
        [INTS, -1, "i"],
        [INTS, 0, -1, "i"],
        [INTS, 0, 25, "i"],
        [None, 1, "i"],
        [INTS, 0, "\0"],
        [bytearray(5), "i"],
        [INTS, 0, 1, MPI.DATATYPE_NULL],
        [INTS, None, 0, MPI.DATATYPE_NULL],
        [[1, 2], 2, "i"],
        INTS[::2],
        np.zeros(2, dtype=">i4"),
        np.zeros(2, dtype="S3"),
    ],
    ids=without_address,
)
def test_what_mpi4py_refuses_is_refused_with_the_same_error(message: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever mpi4py raises
        MPI.COMM_SELF.Send_init(message, 0)
    with pytest.raises(theirs.type):
        read(message, readonly=True)


def test_memory_that_cannot_be_written_receives_nothing() -> None:
    with pytest.raises(BufferError):
        read(b"abc", readonly=False)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(BufferError):
        read(frozen, readonly=False)


def test_memory_without_gaps_is_not_copied() -> None:
    memory = bytearray(8)
    packed = read([memory, (1, 1), "i"], readonly=False).pack()
    packed[:] = b"1234"
    assert memory == b"\0\0\0\x001234"


@given(st.integers(0, 3), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2))
def test_any_vector_type_goes_there_and_back(
    blocks: int, length: int, stride: int, count: int
) -> None:
    kind = MPI.INT.Create_vector(blocks, length, length + stride).Commit()
    place = max(kind.extent, 0) * count + 64
    source = np.frombuffer(bytes(range(256)) * 2, dtype="b")[:place].copy()
    target = np.zeros_like(source)
    data = read([source, count, kind], readonly=True).pack()
    assert bytes(data) == bytes_by_mpi4py([source, count, kind])
    assert read([target, count, kind], readonly=False).unpack(data) == len(data)
    assert bytes(read([target, count, kind], readonly=True).pack()) == bytes(data)
    kind.Free()


def test_too_much_is_truncation() -> None:
    spec = read([bytearray(4), MPI.BYTE], readonly=False)
    with pytest.raises(MPI.Exception) as caught:
        spec.unpack(b"12345")
    assert caught.value.error_class == MPI.ERR_TRUNCATE
    assert spec.unpack(b"12") == 2


def parts(several: Any) -> list[list[float]]:
    return [np.frombuffer(part.pack(), dtype="d").tolist() for part in several.parts]


def test_equal_parts_are_inferred() -> None:
    assert read(DOUBLES, readonly=True, blocks=3).count == 2
    with pytest.raises(ValueError, match="required number of blocks 4"):
        read(DOUBLES, readonly=True, blocks=4)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (DOUBLES, [[0, 1], [2, 3], [4, 5]]),
        ([DOUBLES[:5], "d"], [[0, 1], [2, 3], [4]]),
        ([DOUBLES, 1], [[0], [1], [2]]),
        ([DOUBLES, (1, 2), "d"], [[0], [2], [4]]),
        ([DOUBLES, [1, 0, 2]], [[0], [], [1, 2]]),
        ([DOUBLES, ([1, 2, 1], [5, 0, 2])], [[5], [0, 1], [2]]),
        ([DOUBLES, [1, 2, 1], [5, 0, 2], MPI.DOUBLE], [[5], [0, 1], [2]]),
    ],
)
def test_parts_of_one_type_are_found(message: Any, expected: list[list[float]]) -> None:
    assert parts(read_vector(message, 3, readonly=True)) == expected


def test_parts_of_types_of_their_own_are_found() -> None:
    several = read_vector_w(
        [DOUBLES, ([1, 2], [40, 0]), [MPI.DOUBLE, MPI.DOUBLE]], 2, readonly=True
    )
    assert parts(several) == [[5], [0, 1]]
    with pytest.raises(ValueError, match="expecting 2 items, got 1"):
        read_vector_w([DOUBLES, [1], [0], [MPI.DOUBLE] * 2], 2, readonly=True)


def test_a_spec_that_says_more_than_its_memory_is_left_to_mpi() -> None:
    assert Spec(INTS, memoryview(bytes(24)), 7, MPI.INT).view is None
