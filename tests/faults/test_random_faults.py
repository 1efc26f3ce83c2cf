"""Small random programs with one random fault each: none hangs, leaves anything, or is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from benchmarks.grid import missing
from tests.faults.random_faults import Case, faults_of
from tools.alone import can_be_alone
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

HOW_MANY = 3
SEED = 16


def play(kind: str, count: int) -> None:
    words = ["--seed", str(SEED), "--kind", kind, "--count", str(count)]
    done = subprocess.run(
        [sys.executable, "-m", "tools.random_faults", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"{count} runs, 0 wrong"


KILLED = Case("1+1|2", "sum", "kill", victim=2, moment=3, failures="return")
SURVIVED = replace(KILLED, program="shrink")
CAUSE = {"number": 2, "signal": "SIGKILL", "code": 137, "exception": "", "what": "killed"}


@pytest.mark.parametrize(
    ("case", "code", "out", "is_right"),
    [
        (KILLED, 137, CAUSE, True),
        (KILLED, 137, CAUSE | {"number": 3}, False),
        (KILLED, 139, CAUSE | {"signal": "SIGSEGV"}, False),
        (KILLED, 204, None, False),
        (KILLED, 0, "right", True),
        (KILLED, 0, "", False),
        (SURVIVED, 0, "right", True),
        (SURVIVED, 137, CAUSE, False),
        (SURVIVED, 137, "wrong", False),
        (replace(KILLED, fault="exit"), 7, CAUSE | {"signal": "", "code": 7}, True),
        (replace(KILLED, fault="exit"), 0, "right", False),
        (replace(KILLED, fault="gcm-pmi"), 204, CAUSE | {"what": "gcm-pmi was ended"}, True),
        (replace(KILLED, fault="gcm-pmi"), 204, CAUSE, False),
        (replace(KILLED, fault="HUP", kind="machine"), 129, None, True),
        (replace(KILLED, fault="HUP", kind="machine"), 130, None, False),
        (replace(KILLED, fault="asleep", kind="machine"), 129, None, False),
        (replace(KILLED, fault="stop"), 137, CAUSE, False),
    ],
)
def test_only_a_right_result_or_the_planted_fault_as_first_cause_counts_as_right(
    case: Case, code: int, out: str | dict[str, object] | None, *, is_right: bool
) -> None:
    told = out if isinstance(out, str) else json.dumps({"first_cause": out})
    assert (faults_of(case, code, told, "gcm-deploy: it failed") == []) is is_right


@pytest.mark.skipif(not can_be_alone(), reason="needs a namespace with mounts of its own")
def test_whatever_fails_a_run_ends_in_time_with_a_right_result_or_an_error_and_leaves_nothing() -> (
    None
):
    play("processes", HOW_MANY)


@pytest.mark.needs_root
@pytest.mark.needs_sshd
@pytest.mark.skipif(not can_be_alone(), reason="needs a namespace with mounts of its own")
def test_so_does_one_between_hosts_whatever_happens_to_the_network() -> None:
    if lacking := missing():
        pytest.skip(lacking)
    play("network", 2)


@pytest.mark.needs_root
@pytest.mark.skipif(not can_be_alone(), reason="needs a namespace with mounts of its own")
@pytest.mark.parametrize("kind", ["machine", "lab"])
def test_so_does_one_on_small_disks_and_one_on_peers(kind: str) -> None:
    play(kind, 3)
