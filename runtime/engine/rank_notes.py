"""What stand-ins of ranks have noted about ends that were not good; see `rank_stand_in`."""

from __future__ import annotations

import os

from runtime.engine.rank_stand_in import NOTES
from runtime.launchers.base import Exit
from runtime.launchers.guarded import exit_of


def take_first_note(room: str) -> tuple[int, Exit] | None:
    """Return process and end of the stand-in that ended first, and remove the notes of its job."""
    path = os.path.join(room, NOTES)
    try:
        with open(path, encoding="ascii") as file:
            pid, status = map(int, file.readline().split())
        os.unlink(path)
    except FileNotFoundError:
        return None  # all ended well, or stood for themselves
    return pid, exit_of(status)
