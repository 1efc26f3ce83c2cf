"""What the program of a rank has loaded that calls an MPI by itself, beside mpi4py.

Such code has an MPI_COMM_WORLD of its own: the processes of this cluster. A program that computes
with it gets a result of each cluster, all of which look right.
"""

from __future__ import annotations

import os

from runtime.linked_mpi import is_mpi_library, needs_mpi

_MPI4PY = f"{os.sep}mpi4py{os.sep}"
_PLUGIN = "mca_"
"""How the names of the parts of an Open MPI begin that it loads when it needs them."""


def objects_in(maps: str) -> set[str]:
    """Return the programs and libraries in what the system tells of a process's memory.

    >>> line = "7f0000000000-7f0000001000 r-xp 00000000 08:01 7   /usr/lib/libm.so.6"
    >>> objects_in(line + "\\n" + line.replace("r-xp", "r--p").replace("libm", "libz"))
    {'/usr/lib/libm.so.6'}
    """
    rows = (line.split(None, 5) for line in maps.splitlines())
    return {row[5] for row in rows if len(row) > 5 and "x" in row[1] and row[5].startswith("/")}


class NativeObjects:
    """Finds, of what is loaded after this was made, what is linked with an MPI; each once."""

    def __init__(self) -> None:
        self._known = loaded_objects()

    def found(self) -> list[str]:
        """Return the files of what is new."""
        new = loaded_objects() - self._known
        self._known |= new
        return sorted(filter(_calls_mpi, new))


def loaded_objects() -> set[str]:
    """Return the programs and libraries in the memory of this process."""
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            return objects_in(maps.read())
    except OSError:
        return set()


def _calls_mpi(path: str) -> bool:
    name = os.path.basename(path)
    if _MPI4PY in path or name.startswith(_PLUGIN) or is_mpi_library(name):
        return False
    try:
        return needs_mpi(path)
    except OSError:  # it has been removed
        return False
