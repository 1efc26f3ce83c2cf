"""What stand-ins of ranks have noted about ends that were not good; see `rank_stand_in`."""

from __future__ import annotations

import os

from runtime.engine.rank_stand_in import NOTES
from runtime.launchers.base import Exit
from runtime.launchers.guarded import exit_of


def take_first_note(room: str) -> tuple[int, Exit] | None:
    """Return process and end of the stand-in that ended first, and remove the notes of its job.

    None if all ended well or stood for themselves, and of a note that cannot be read.
    """
    path = os.path.join(room, NOTES)
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            first = file.readline()
        os.unlink(path)
        pid, status = map(int, first.split())
    except (OSError, ValueError):  # such as an empty one, of a stand-in killed before it wrote
        return None
    return pid, exit_of(status)
