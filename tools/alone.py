"""Runs a command where nobody else uses the temporary folder and the shared memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tools.on_grids import ROOT

NAMESPACE = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))
MOUNTS = """\
mount --bind "$1" /mnt && mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm &&
mkdir -p "$1" && mount --bind /mnt "$1" && cd "$1" && shift && exec "$@"
"""
"""The project stays where it is, also if that is below the temporary folder."""

OWN_FOLDERS = {"TMPDIR": "/tmp", "XDG_STATE_HOME": "/tmp/of/state"}
"""Logs of runs that fail stay, in the folder of the programs."""


def alone(*words: str | Path) -> list[str]:
    """Return the command that runs another one there."""
    return [*NAMESPACE, "sh", "-c", MOUNTS, "sh", str(ROOT), *map(str, words)]


def own_environment() -> dict[str, str]:
    """Return the environment for such a command."""
    return {**os.environ, **OWN_FOLDERS, "PYTHONPATH": str(ROOT)}


def can_be_alone() -> bool:
    """Tell whether this account may have mounts of its own."""
    try:
        return subprocess.run(alone("true"), capture_output=True, check=False).returncode == 0
    except OSError:
        return False
