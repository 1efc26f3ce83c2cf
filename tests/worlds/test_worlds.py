"""Simulated worlds of a fixed set of seeds are right; new seeds are for a run beside this one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import mpi4py.MPI  # noqa: F401 - as every program: it opens what a process has until its end
import pytest

from runtime.testing.world.__main__ import commit_here, line_of
from runtime.testing.world.kinds import KINDS
from runtime.testing.world.tape import NoTape

SEEDS = {"messages": 1000, "runs": 800, "labs": 300, "links": 2000, "programs": 400, "windows": 30}
"""How many worlds of each kind decide."""
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", KINDS)
def test_worlds_end_right_whatever_happens_in_them(
    name: str, part: int, caplog: pytest.LogCaptureFixture
) -> None:
    kind = KINDS[name]
    with caplog.at_level(logging.CRITICAL + 1):
        played = (
            kind.play(kind.draw(seed), tape=NoTape()) for seed in range(part, SEEDS[name], PARTS)
        )
        assert [line_of(one, commit_here()) for one in played if one.failures] == []


def trace_of(seed: int, hash_seed: str) -> str:
    program = (
        "from runtime.testing.world.kinds import KINDS\n"
        f"print(*(kind.play(kind.draw(seed)).tape.hash for kind in KINDS.values()"
        f" for seed in range({seed}, {seed + 6})))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_seed_gives_the_same_trace_in_every_process() -> None:
    assert trace_of(4700, "1") == trace_of(4700, "2")
