"""For how long native MPI is asked at once for what moves inside a cluster."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.mpi.progress.native_waits import to_move
from runtime.mpi.progress.polling import LONGEST

pytestmark = pytest.mark.mpi

MIB = 1 << 20
LARGE = np.zeros(MIB, "b")
WORTH = pytest.approx(157e-6, rel=0.01)


class Strange:
    @property
    def nbytes(self) -> int:
        raise LookupError("nobody knows")


@pytest.mark.parametrize(
    "buf", [LARGE, LARGE.data, bytes(LARGE), bytearray(LARGE), [LARGE, MIB], (LARGE, "b")]
)
def test_a_large_message_is_asked_for_until_it_can_have_moved(buf: object) -> None:
    assert to_move(buf) == WORTH


@pytest.mark.parametrize("buf", [b"small", np.zeros(8), [LARGE, 9], [LARGE, 9, "b"]])
def test_a_small_one_is_not_also_where_the_memory_is_large(buf: object) -> None:
    assert to_move(buf) < 1e-6


def test_nobody_asks_for_long_however_much_there_is() -> None:
    assert to_move(memoryview(bytearray(64 * MIB))) == LONGEST


@pytest.mark.parametrize("buf", [None, [], ["?"], 7, Strange()])
def test_what_is_not_plain_to_see_is_not_worth_it(buf: object) -> None:
    assert to_move(buf) == 0.0
