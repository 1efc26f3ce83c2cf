"""Whoever is killed during the start, and however: no file and no shared memory stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.alone import alone, can_be_alone, own_environment

pytestmark = pytest.mark.mpi

KILLS = Path(__file__).with_name("kills_at_any_time.py")
FAR = [pytest.mark.needs_sshd, pytest.mark.needs_root]


@pytest.mark.skipif(not can_be_alone(), reason="needs a namespace with mounts of its own")
@pytest.mark.parametrize(
    ("victim", "signal", "way"),
    [
        ("gcm-deploy", "SIGKILL", "local"),
        ("gcm-pmi", "SIGKILL", "local"),
        pytest.param("gcm-deploy", "SIGTERM", "sshd", marks=FAR),
    ],
)
def test_kills_at_any_time_of_the_start_leave_no_file_and_no_shared_memory(
    victim: str, signal: str, way: str
) -> None:
    done = subprocess.run(
        alone(sys.executable, KILLS, "5", victim, signal, way),
        capture_output=True,
        text=True,
        check=False,
        timeout=140,
        env=own_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [], done.stderr
