from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.mpi


def test_a_program_runs_on_every_rank_of_every_cluster(
    grid: Callable[..., dict[int, list[str]]],
) -> None:
    said = grid("1|2", "import os; print('hello from', os.getpid() > 0)")
    assert said == {rank: ["hello from True"] for rank in range(3)}
