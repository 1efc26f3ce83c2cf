"""The side that asks the home of a file: an access as requests, each of a limited size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gcm.records import dataclass
from runtime.files.requests import AT_ONCE, ATOMIC, LAST, FileHeader, FileRequestKind
from runtime.windows.runs import Run, packed, pieces, size_of


@dataclass(slots=True)
class AccessPiece:
    """One request of an access: its header, its runs if it is not one block, and its bytes."""

    header: FileHeader
    runs: bytes
    at: int
    """How many bytes of the access come before."""
    size: int


def requests_of(
    kind: FileRequestKind, runs: Sequence[Run], access: int, *, atomic: bool
) -> Iterator[AccessPiece]:
    """Yield the requests of a read or a write.

    >>> from runtime.windows.runs import block
    >>> [one] = requests_of(FileRequestKind.READ, [block(8, 4)], 1, atomic=False)
    >>> one.header.start, one.header.length, one.header.flags == LAST
    (8, 4, True)
    """
    at, parts = 0, list(pieces(runs, AT_ONCE))
    if atomic and parts:
        yield AccessPiece(FileHeader(FileRequestKind.LOCK, access=access), b"", 0, 0)
    for number, piece in enumerate(parts, 1):
        size = size_of(piece)
        flags = (LAST if number == len(parts) else 0) | (ATOMIC if atomic else 0)
        header = FileHeader(kind, flags, access=access)
        if len(piece) == 1 and piece[0].times == 1:
            header = header._replace(start=piece[0].start, length=size)
            yield AccessPiece(header, b"", at, size)
        else:
            yield AccessPiece(header._replace(runs=len(piece)), packed(piece), at, size)
        at += size
