"""What travels between a process and the home of a file: a header, perhaps runs and data."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from runtime.services.port import OUT_OF_TURN

_HEADER = Struct("<BBHI4q")

AT_ONCE = 4 << 20
"""So many bytes are in one request at most: a larger access is several, one after the other."""

LAST_PLACE = (1 << 63) - 1
"""The last place that a request can name, as in MPI."""


class FileRequestKind(IntEnum):
    """What a request asks for; all but `LOCK` are answered."""

    READ = 1
    WRITE = 2
    POINTER = 3
    """Add `length` to the shared file pointer; the answer is what it was."""
    SET_POINTER = 4
    SIZE = 5
    RESIZE = 6
    RESERVE = 7
    """See that there is room for so many bytes."""
    SYNC = 8
    LOCK = 9
    """What follows until a request with `LAST` comes between no accesses of others."""
    ANSWER = OUT_OF_TURN | 1
    """With the token of the request, and a number in `length`: such as of bytes."""


LAST = 1
"""In `flags`: the end of an access."""

ATOMIC = 2
"""In `flags`: the end of one that `LOCK` has begun."""

FAILED = 4
"""In `flags` of an answer: its body is a `FileFault`."""


class FileHeader(NamedTuple):
    """What a request says of itself.

    `length` bytes are at `start`, or, where there are `runs`, as many as these have; they come in
    front of the data. `access` counts the accesses of a process.
    """

    kind: int
    flags: int = 0
    runs: int = 0
    start: int = 0
    length: int = 0
    token: int = 0
    access: int = 0

    def packed(self) -> bytes:
        """Return it as bytes."""
        kind, flags, runs, start, length, token, access = self
        return _HEADER.pack(kind, flags, 0, runs, start, length, token, access)

    @classmethod
    def of(cls, data: bytes) -> FileHeader:
        """Return what bytes say.

        >>> FileHeader.of(FileHeader(FileRequestKind.READ, start=8, length=4).packed())
        FileHeader(kind=1, flags=0, runs=0, start=8, length=4, token=0, access=0)
        """
        kind, flags, _, runs, start, length, token, access = _HEADER.unpack(data)
        return cls(kind, flags, runs, start, length, token, access)
