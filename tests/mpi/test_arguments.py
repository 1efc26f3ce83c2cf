"""What programs may give as arguments: what they may give to mpi4py, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.grids import Grid, Plain

pytestmark = pytest.mark.mpi


PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import odd_arguments
odd_arguments.main()
"""


def test_all_calls_take_and_refuse_the_numbers_that_they_do_under_plain_mpi(
    grid: Grid, plain: Plain
) -> None:
    expected = Counter(plain(4, PROGRAM, timeout=120.0))
    said = Counter(line for lines in grid("2+2", PROGRAM, timeout=180.0).values() for line in lines)
    assert len(expected) > 20_000
    assert (said - expected, expected - said) == (Counter(), Counter())


def test_a_number_that_one_rank_alone_gives_wrongly_leaves_nobody_waiting(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        import numpy as np
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        a, b = np.ones(1), np.ones(1)
        calls = [lambda comm, root: comm.gather(1, root), lambda comm, root: comm.bcast(1, root),
            lambda comm, root: comm.Reduce(a, b, MPI.SUM, root),
            lambda comm, root: comm.Bcast(a, root)]
        for call in calls:
            comm = world.Dup()
            try:
                call(comm, 0 if world.rank else "0")
                comm.Barrier()
            except TypeError:
                print("refused")
            except MPI.OutOfStep as error:
                print("an integer is required" in str(error))
            world.Barrier()
        """,
    )
    assert said == {0: ["refused"] * 4, 1: ["True"] * 4}
