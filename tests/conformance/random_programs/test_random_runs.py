"""Random programs see on plain MPI and on grids what the model says, so both see the same.

More of them: RANDOM_PROGRAMS=1000:20 runs the 20 seeds from 1000 on, on each grid. To look into
one: `python -m tools.random_programs --seed 1000 --grid "1|2|3" --shrink 40`.
"""

from __future__ import annotations

import os
from itertools import product

import pytest

from tools.on_grids import identifiers
from tools.random_programs import generate
from tools.random_programs.trial import PLAIN, together, trial

pytestmark = pytest.mark.mpi

FIRST, COUNT = map(int, os.environ.get("RANDOM_PROGRAMS", "0:1").split(":"))
SEEDS = range(FIRST, FIRST + COUNT)
GRIDS = ["1+1", "2+2", "1|2|3"]


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program_is_right_on_plain_mpi(seed: int, ranks: int) -> None:
    faults = trial(generate(seed, ranks), PLAIN)
    assert not faults, "\n".join([f"seed {seed} on {ranks} ranks", *faults])


# One once hung: it duplicates a communicator while a collective is under way. In the other one a
# rank once sent itself the bytes of a structure, whose members MPICH compares.
@pytest.mark.parametrize(("seed", "grid"), [*product(SEEDS, GRIDS), (40, "1|2"), (137, "1+2")])
def test_a_random_program_is_right_on_a_grid(seed: int, grid: str) -> None:
    faults = trial(generate(seed, len(identifiers(grid))), grid)
    assert not faults, "\n".join([f"seed {seed} on {grid}", *faults])


def test_many_programs_in_one_start_are_judged_by_their_ranks() -> None:
    code, said = together(range(FIRST, FIRST + 4), 30, "1+1", 2, seconds=30)
    assert (code, said.splitlines()[-1]) == (
        0,
        f"4 programs from seed {FIRST} on 2 ranks: 0 wrong",
    ), said
