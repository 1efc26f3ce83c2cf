"""Small random programs with one random fault each: none hangs, leaves anything, or is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.grid import missing
from tests.faults.test_kills_at_any_time import ROOT, alone, can_be_alone

pytestmark = pytest.mark.mpi

BENCH = Path(__file__).with_name("random_faults.py")
HOW_MANY = 3
SEED = 16


def play(*words: str) -> None:
    done = subprocess.run(
        alone(sys.executable, BENCH, *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "TMPDIR": "/tmp", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["wrong"] == [], done.stderr


@pytest.mark.skipif(not can_be_alone(), reason="needs a namespace with mounts of its own")
def test_whatever_fails_a_run_ends_in_time_with_a_right_result_or_an_error_and_leaves_nothing() -> (
    None
):
    play(str(HOW_MANY), str(SEED))


@pytest.mark.needs_root
@pytest.mark.needs_sshd
@pytest.mark.skipif(not can_be_alone(), reason="needs a namespace with mounts of its own")
def test_so_does_one_between_hosts_whatever_happens_to_the_network() -> None:
    if lacking := missing():
        pytest.skip(lacking)
    play("2", str(SEED), "0", "network")
