"""How a file is opened: MPI's access modes, and what does not go together."""

from __future__ import annotations

import os
from enum import IntFlag

from runtime.files.faults import FileFault


class OpenMode(IntFlag):
    """MPI's modes by their names without `MODE_`; the numbers are our own."""

    RDONLY = 1
    WRONLY = 2
    RDWR = 4
    CREATE = 8
    EXCL = 16
    DELETE_ON_CLOSE = 32
    UNIQUE_OPEN = 64
    SEQUENTIAL = 128
    """Only the shared file pointer is used, and the file is neither measured nor cut."""
    APPEND = 256
    """All file pointers begin at the end of the file."""

    @property
    def reads(self) -> bool:
        """Whether it may be read."""
        return not self & OpenMode.WRONLY

    @property
    def writes(self) -> bool:
        """Whether it may be written."""
        return not self & OpenMode.RDONLY

    @property
    def flags(self) -> int:
        """The flags for the system; opening waits for nobody, as at a pipe."""
        found = os.O_RDWR if self & OpenMode.RDWR else os.O_WRONLY if self & OpenMode.WRONLY else 0
        found |= os.O_CREAT if self & OpenMode.CREATE else 0
        return found | (os.O_EXCL if self & OpenMode.EXCL else 0) | os.O_NONBLOCK | os.O_CLOEXEC


_WAYS = (OpenMode.RDONLY, OpenMode.WRONLY, OpenMode.RDWR)


def check_mode(mode: OpenMode) -> None:
    """Raise FileFault for modes that do not go together.

    >>> check_mode(OpenMode.RDONLY | OpenMode.CREATE)
    Traceback (most recent call last):
        ...
    runtime.files.faults.FileFault: MODE_RDONLY does not go with MODE_CREATE or MODE_EXCL
    """
    ways = [one for one in _WAYS if mode & one]
    if len(ways) != 1:
        given = " and ".join(f"MODE_{one.name}" for one in ways) or "none of them"
        text = f"a file has one of MODE_RDONLY, MODE_WRONLY and MODE_RDWR, this has {given}"
        raise FileFault("ERR_AMODE", text)
    if mode & OpenMode.RDONLY and mode & (OpenMode.CREATE | OpenMode.EXCL):
        raise FileFault("ERR_AMODE", "MODE_RDONLY does not go with MODE_CREATE or MODE_EXCL")
    if mode & OpenMode.RDWR and mode & OpenMode.SEQUENTIAL:
        raise FileFault("ERR_AMODE", "MODE_RDWR does not go with MODE_SEQUENTIAL")


def check_use(mode: OpenMode, *, reads: bool, shared: bool) -> None:
    """Raise FileFault for an access that a file was not opened for."""
    if reads and not mode.reads:
        raise FileFault("ERR_ACCESS", "the file was opened with MODE_WRONLY, and is not read")
    if not reads and not mode.writes:
        raise FileFault("ERR_READ_ONLY", "the file was opened with MODE_RDONLY, and not written")
    if mode & OpenMode.SEQUENTIAL and not shared:
        check_random_access(mode)


def check_random_access(mode: OpenMode) -> None:
    """Raise FileFault where a file is only read or written from its beginning to its end."""
    if mode & OpenMode.SEQUENTIAL:
        raise FileFault(
            "ERR_UNSUPPORTED_OPERATION",
            "the file was opened with MODE_SEQUENTIAL, where only the shared file pointer moves",
        )
