"""Shared memory of native MPI: a process that is killed leaves it behind, so others remove it.

Needs nothing but the standard library: it travels to hosts where this package is not installed, and
ranks import it before anything else.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "/dev/shm/"
MPICH = FOLDER + "mpich_shm_"

_OF_MPI = tuple(
    FOLDER + name
    for name in (
        "mpich",
        "ucx_shm_",
        "fi_shm",
        "vader_segment.",
        "sm_segment.",
        "osc_",
        "psm2_shm",
        "psm3_shm",
        "Intel_MPI",
        "gcm-window-",
    )
)
"""How MPI libraries and our windows begin their names; all else there belongs to programs."""

_GONE = " (deleted)"


def mapped_segments(process: int | str = "self") -> list[str]:
    """Return what a process has mapped or opened of MPI's shared memory; none where no /proc is."""
    found = _had(process)
    return sorted(path for path in found if path.startswith(_OF_MPI) and not path.endswith(_GONE))


def orphaned_segments(since: float) -> list[str]:
    """Return what was made of MPI's shared memory since a time, here, and nobody has any more.

    A rank that dies while its MPI starts leaves it before anybody could look what it has.
    """
    try:
        found = [FOLDER + name for name in os.listdir(FOLDER)]
    except OSError:
        return []
    left = {path for path in found if path.startswith(_OF_MPI) and _is_own(path, since)}
    if left:  # processes of others cannot be looked into, and have no access to it either
        for process in filter(str.isdigit, os.listdir("/proc")):
            left -= _had(process)
    return sorted(left)


def _is_own(path: str, since: float) -> bool:
    try:
        known = os.lstat(path)
    except OSError:
        return False
    return known.st_uid == os.geteuid() and known.st_ctime >= since


def remove_segments(paths: Iterable[str]) -> None:
    """Remove what MPI left of them."""
    for path in paths:
        if os.path.dirname(path) != FOLDER.rstrip("/"):
            continue
        try:
            os.unlink(path)
        except OSError:
            continue  # MPI has done so itself


def _had(process: int | str) -> set[str]:
    """Return what a process has opened or mapped of shared memory, and other files.

    MPI opens what it makes, maps it, and closes it: whoever looked at the maps first could look
    before the one and after the other, and miss what is in use.
    """
    opened = _opened(process)
    return opened | _mapped(process)


def _mapped(process: int | str) -> set[str]:
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="surrogateescape") as file:
            return {line[line.index(FOLDER) :].rstrip("\n") for line in file if FOLDER in line}
    except OSError:
        return set()


def _opened(process: int | str) -> set[str]:
    """What is just being made is open before it is mapped."""
    found: set[str] = set()
    folder = f"/proc/{process}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return found
    for name in names:
        try:
            found.add(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue  # it was closed meanwhile
    return found
