"""The folder in which the ranks of a cluster work, where that is a copy: made and filled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runtime.deployment.steps import FileMove
from runtime.launchers.base import Launcher


def make_work_folder(launcher: Launcher, parent: str, moves: Iterable[FileMove]) -> str:
    """Make a folder for the ranks of a cluster, bring files there, and return its full path.

    `parent` is the folder it is made in, empty for that of temporary files. Raises StagingFailed.
    """
    work = launcher.make_folder(parent)
    files = {move.destination: Path(move.source).expanduser() for move in moves}
    if files:
        launcher.stage(files, work)
    return work
