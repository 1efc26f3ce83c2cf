"""Full paths of folders at a place that the descriptor names: created, or required to exist."""

from __future__ import annotations

from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import NoSuchFolder, StagingFailed
from runtime.launchers.lines import Collected

FOLDER_TIMEOUT = 60.0
_FULL_PATH = (
    "import os, sys\n"
    "path = os.path.abspath(os.path.expanduser(sys.argv[1]))\n"
    "{}\n"
    "sys.stdout.write(path)\n"
)
_MAKE = _FULL_PATH.format("os.makedirs(path, exist_ok=True)")
_FIND = _FULL_PATH.format("os.listdir(path)")


def make_path(launcher: Launcher, python: str, path: str) -> str:
    """Create a folder and its parents; return its full path. Raises StagingFailed."""
    made, cause = _ask(launcher, python, _MAKE, path)
    if not made:
        raise StagingFailed(
            f"the folder {path} cannot be made",
            place=launcher.place,
            cause=cause,
            cure="Name another one in the cluster's <front-end>",
        )
    return made


def find_path(launcher: Launcher, python: str, path: str) -> str:
    """Return the full path of a program folder that has to exist; raises NoSuchFolder."""
    found, cause = _ask(launcher, python, _FIND, path)
    if not found:
        raise NoSuchFolder(
            f"the program folder {path} cannot be used",
            place=launcher.place,
            cause=cause,
            cure='Put it there, name another one in folder=..., or leave out stage="no", so that '
            "it is copied",
        )
    return found


def _ask(launcher: Launcher, python: str, program: str, path: str) -> tuple[str, str]:
    """Run a small program at a place; return its output, or nothing and why."""
    printed = Collected()
    process = launcher.start(Command((python, "-I", "-S", "-c", program, path)), printed)
    process.close_input()
    if process.wait(FOLDER_TIMEOUT).ok:
        return printed.output, ""
    return "", "\n".join(process.tail[-1:])
