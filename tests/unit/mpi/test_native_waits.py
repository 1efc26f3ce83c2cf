"""How native MPI is asked for what moves inside a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from runtime.mpi.engine import Engine
from runtime.mpi.politeness import SPINS, settle

pytestmark = pytest.mark.mpi


class Strange:
    @property
    def nbytes(self) -> int:
        raise LookupError("nobody knows")


class Waits:
    """Counts how often a wait looks after other things between two questions."""

    def __init__(self) -> None:
        self.count = 0

    def wait_until(self, test: Callable[[], object], _: Callable[[], object]) -> None:
        self.count += 1
        while not test():
            pass


def waits(buf: object, questions: int) -> int:
    """Return how often other things were looked after until so many questions were asked."""
    engine, asked = Waits(), iter(range(questions))
    settle(cast(Engine, engine), lambda: next(asked, None) is None, buf)
    return engine.count


LARGE = np.zeros(16 << 20, "b")


@pytest.mark.parametrize("buf", [LARGE, LARGE.data, bytes(LARGE), [LARGE, 1 << 20]])
def test_a_large_message_is_asked_for_until_it_can_have_moved(buf: object) -> None:
    # a machine that stalls just then may take all the time there is
    assert min(waits(buf, SPINS + 10) for _ in range(50)) == 0


@pytest.mark.parametrize("buf", [None, b"small", np.zeros(8), [], ["?"], [LARGE, 9], Strange()])
def test_a_small_one_leaves_time_for_others_soon(buf: object) -> None:
    assert min(waits(buf, SPINS + 1000) for _ in range(10)) == 1
    assert waits(buf, SPINS - 1) == 0


def test_nobody_asks_for_long_for_what_does_not_come() -> None:
    assert waits(LARGE, SPINS + 1_000_000) == 1
