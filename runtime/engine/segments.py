"""Shared memory of native MPI: a rank that is killed leaves it behind, so others remove it.

Needs nothing but the standard library: ranks import it before anything else.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "/dev/shm/"


def mapped_segments(process: int | str = "self") -> list[str]:
    """Return the files of shared memory that a process has mapped; none where no /proc is."""
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="surrogateescape") as file:
            found = {line[line.index(FOLDER) :].rstrip("\n") for line in file if FOLDER in line}
    except OSError:
        return []
    return sorted(path for path in found if not path.endswith(" (deleted)"))


def remove_segments(paths: Iterable[str]) -> None:
    """Remove what MPI left of them."""
    for path in paths:
        if os.path.dirname(path) != FOLDER.rstrip("/"):
            continue
        try:
            os.unlink(path)
        except OSError:
            continue  # MPI has done so itself
