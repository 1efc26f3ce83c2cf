"""Whoever is killed during the start, and however: no file and no shared memory stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

KILLS = Path(__file__).with_name("kills_at_any_time.py")
NAMESPACE = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))
MOUNTS = """\
mount --bind "$1" /mnt && mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm &&
mkdir -p "$1" && mount --bind /mnt "$1" && cd "$1" && shift && exec "$@"
"""
"""Nobody else uses this temporary folder and shared memory; the project stays where it is."""

OWN_FOLDERS = {"TMPDIR": "/tmp", "XDG_STATE_HOME": "/tmp/of/state"}
"""Logs of runs that fail stay, in the folder of the programs."""

FAR = [pytest.mark.needs_sshd, pytest.mark.needs_root]


def alone(*words: str | Path) -> list[str]:
    return [*NAMESPACE, "sh", "-c", MOUNTS, "sh", str(ROOT), *map(str, words)]


def can_be_alone() -> bool:
    try:
        return subprocess.run(alone("true"), capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not can_be_alone(), reason="needs a namespace with mounts of its own")
@pytest.mark.parametrize(
    ("victim", "signal", "way"),
    [
        ("gcm-deploy", "SIGKILL", "local"),
        ("gcm-deploy", "SIGTERM", "local"),
        ("gcm-pmi", "SIGKILL", "local"),
        pytest.param("gcm-deploy", "SIGKILL", "sshd", marks=FAR),
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
        env={**os.environ, **OWN_FOLDERS, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [], done.stderr
