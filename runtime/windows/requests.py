"""What travels between the two sides of a window: a header, and perhaps runs and data behind it."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from runtime.services.port import OUT_OF_TURN

_HEADER = Struct("<BBHI4q")

AT_ONCE = 1 << 20
"""So many bytes of one request are reduced, scattered or copied for an answer at most: others have
to wait meanwhile.
"""


class RequestKind(IntEnum):
    """What a request asks for; those that begin with `OUT_OF_TURN` are no questions."""

    PUT = 1
    GET = 2
    """`operation` says whether it is one in an epoch of fences or groups: over at its end alone."""
    ACCUMULATE = 3
    GET_ACCUMULATE = 4
    COMPARE_AND_SWAP = 5
    LOCK = 6
    """`operation` says whether it is an exclusive one."""
    UNLOCK = 7
    """Answered once all before it is applied."""
    FLUSH = 8
    """The same, and the lock stays."""
    COMPLETE = 9
    """The end of an access epoch that `start` began."""
    ANSWER = OUT_OF_TURN | 1
    """With the token of the request, and what `operation` says of it, see `AnswerCode`."""
    POST = OUT_OF_TURN | 2
    """An exposure epoch has begun for who gets it."""
    HOLDERS = OUT_OF_TURN | 3
    """Who has the lock? Asked by a process that has waited for long."""
    HELD_BY = OUT_OF_TURN | 4
    """The processes that have the lock that its receiver waits for, as 64-bit indexes."""


class AnswerCode(IntEnum):
    """What became of requests."""

    DONE = 0
    OUTSIDE = 1
    """Some of it was outside of the memory of the window; the body of the answer says what."""
    FAILED = 2
    """The target could not do it; the body of the answer says why."""


BASIC_TYPES = (
    *("BYTE", "CHAR", "SIGNED_CHAR", "UNSIGNED_CHAR", "SHORT", "UNSIGNED_SHORT", "INT", "UNSIGNED"),
    *("LONG", "UNSIGNED_LONG", "LONG_LONG", "UNSIGNED_LONG_LONG", "FLOAT", "DOUBLE"),
    *("LONG_DOUBLE", "WCHAR", "C_BOOL", "INT8_T", "INT16_T", "INT32_T", "INT64_T", "UINT8_T"),
    *("UINT16_T", "UINT32_T", "UINT64_T", "AINT", "OFFSET", "COUNT", "C_COMPLEX"),
    *("C_FLOAT_COMPLEX", "C_DOUBLE_COMPLEX", "C_LONG_DOUBLE_COMPLEX", "CXX_BOOL"),
    *("CXX_FLOAT_COMPLEX", "CXX_DOUBLE_COMPLEX", "CXX_LONG_DOUBLE_COMPLEX", "LOGICAL", "INTEGER"),
    *("REAL", "DOUBLE_PRECISION", "COMPLEX", "DOUBLE_COMPLEX", "CHARACTER", "INTEGER1"),
    *("INTEGER2", "INTEGER4", "INTEGER8", "REAL4", "REAL8", "COMPLEX8", "COMPLEX16"),
    *("SHORT_INT", "INT_INT", "LONG_INT", "FLOAT_INT", "DOUBLE_INT", "LONG_DOUBLE_INT"),
)
"""The names of the types that reductions know; they travel as their places here."""

REDUCTIONS = (
    *("REPLACE", "NO_OP", "SUM", "PROD", "MAX", "MIN", "LAND", "LOR", "LXOR", "BAND", "BOR"),
    *("BXOR", "MAXLOC", "MINLOC"),
)
"""The names of the operations; they travel as their places here."""

REPLACE, NO_OP = (REDUCTIONS.index(one) for one in ("REPLACE", "NO_OP"))


class RequestHeader(NamedTuple):
    """What a request says of itself.

    `length` bytes are at `start`, or, where there are `runs`, as many as these have; the runs are
    relative to `start`, and come in front of the data. `epoch` counts fences.
    """

    kind: int
    operation: int = 0
    basic: int = 0
    runs: int = 0
    start: int = 0
    length: int = 0
    token: int = 0
    epoch: int = 0

    def packed(self) -> bytes:
        """Return it as bytes."""
        return _HEADER.pack(*self)

    @classmethod
    def of(cls, data: bytes) -> RequestHeader:
        """Return what bytes say.

        >>> RequestHeader.of(RequestHeader(RequestKind.PUT, start=8, length=4).packed())
        RequestHeader(kind=1, operation=0, basic=0, runs=0, start=8, length=4, token=0, epoch=0)
        """
        return cls(*_HEADER.unpack(data))
