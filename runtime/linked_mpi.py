"""Which files are linked with an MPI: programs and libraries with an MPI_COMM_WORLD of their own.

Reads what the dynamic linker reads, and nothing else of a file, however large that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mmap

_LIBRARY = re.compile(r"libmpi(ch\w*|cxx|fort\w*|_\w+)?[-.]")
_NEEDED, _STRINGS = 1, 5
_LOADED, _DYNAMIC = 1, 2
_ELF_64 = b"\x7fELF\x02"


def is_mpi_library(name: str) -> bool:
    """Tell whether a file of this name is the library of an MPI.

    >>> [is_mpi_library(f"lib{one}.so.12") for one in ("mpi", "mpi-9f86d0", "mpi_cxx", "mpir")]
    [True, True, True, False]
    """
    return _LIBRARY.match(name) is not None


def needs_mpi(path: str) -> bool:
    """Tell whether a file is linked with an MPI; raises OSError."""
    return any(map(is_mpi_library, needed_libraries(path)))


def needed_libraries(path: str) -> tuple[str, ...]:
    """Return which libraries a program or library names; none for other files. Raises OSError.

    >>> import sys
    >>> any(one.startswith("libc.so") for one in needed_libraries(sys.executable))
    True
    >>> needed_libraries(__file__)
    ()
    """
    import mmap
    import struct

    with open(path, "rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return tuple(_needed(data)) if data[:5] == _ELF_64 else ()
        except (ValueError, struct.error):  # it is empty, or breaks off
            return ()


def _needed(data: mmap.mmap) -> Iterator[str]:
    from struct import unpack_from

    order = "<" if data[5] == 1 else ">"
    (table,) = unpack_from(f"{order}Q", data, 32)
    size, count = unpack_from(f"{order}HH", data, 54)
    segments = [unpack_from(f"{order}IIQQQQ", data, table + at * size) for at in range(count)]
    dynamic = next((one for one in segments if one[0] == _DYNAMIC), None)
    if dynamic is None:
        return
    names: list[int] = []
    strings = 0
    for at in range(dynamic[2], dynamic[2] + dynamic[5], 16):
        tag, value = unpack_from(f"{order}QQ", data, at)
        if tag == _NEEDED:
            names.append(value)
        elif tag == _STRINGS:
            strings = value
    for one in segments:
        if one[0] == _LOADED and one[3] <= strings < one[3] + one[5]:
            strings += one[2] - one[3]
            break
    for name in names:
        begin = strings + name
        yield data[begin : data.find(b"\0", begin)].decode(errors="replace")
