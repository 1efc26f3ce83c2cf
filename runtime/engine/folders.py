"""Folders at a place that the descriptor names: made if they are missing, as full paths."""

from __future__ import annotations

from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import StagingFailed
from runtime.launchers.lines import Collected

PATIENCE = 60.0
_MAKE = (
    "import os, sys\n"
    "path = os.path.abspath(os.path.expanduser(sys.argv[1]))\n"
    "os.makedirs(path, exist_ok=True)\n"
    "sys.stdout.write(path)\n"
)


def make_path(launcher: Launcher, python: str, path: str) -> str:
    """Make a folder and those above it; return its full path. Raises StagingFailed."""
    said = Collected()
    process = launcher.start(Command((python, "-I", "-S", "-c", _MAKE, path)), said)
    process.close_input()
    if not process.wait(PATIENCE).ok:
        raise StagingFailed(
            f"the folder {path} cannot be made",
            place=launcher.place,
            cause="\n".join(process.tail[-1:]),
            cure="Name another one in the cluster's <front-end>",
        )
    return said.output
