"""Simulated worlds of a fixed set of seeds are right; new seeds are for a run beside this one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from runtime.testing.world.__main__ import commit_here, line_of
from runtime.testing.world.load import draw
from runtime.testing.world.simulation import play

SEEDS = 1000
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
def test_worlds_end_right_whatever_happens_in_them(part: int) -> None:
    played = (play(draw(seed)) for seed in range(part, SEEDS, PARTS))
    assert [line_of(one, commit_here()) for one in played if one.failures] == []


def trace_of(seed: int, hash_seed: str) -> str:
    program = (
        "from runtime.testing.world.load import draw\n"
        "from runtime.testing.world.simulation import play\n"
        f"print(*(play(draw(seed)).tape.hash for seed in range({seed}, {seed + 20})))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_seed_gives_the_same_trace_in_every_process() -> None:
    assert trace_of(4700, "1") == trace_of(4700, "2")
