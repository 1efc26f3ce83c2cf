"""What was written to a connection and may have to be written once more. A machine without input.

All that goes to one peer is one stream of bytes, over however many connections. The peer tells up
to which byte it has come; what lies before is let go, what lies behind can be replayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

Piece = bytes | bytearray | memoryview


_TAIL = 16 << 10  # bytes of small pieces that become one
_BLOCK = 272 << 10  # bytes that are taken at once for copies: the largest fits in, with its head
_SPARE = 8  # blocks that are not given back


class Replay:
    """The last part of a stream, in the pieces in which it was made.

    >>> replay = Replay()
    >>> replay.add([b"the quick ", b"brown fox"])
    >>> replay.let_go(4)
    >>> [bytes(piece) for piece in replay.since(8)], replay.start
    ([b'k ', b'brown fox'], 0)
    """

    def __init__(self) -> None:
        self._pieces: deque[Piece] = deque()
        self.start = 0
        """The position of the first byte that is left."""
        # Small pieces are joined: very many objects cost more than what they say. It is the last
        # piece as long as there is room in it.
        self._tail: bytearray | None = None
        # Copies lie in blocks one behind the other: memory that is taken anew for each of them
        # costs more than to write it.
        self._block = memoryview(b"")
        self._at = 0
        self._full: deque[tuple[int, memoryview]] = deque()  # and where their last copies end
        self._spare: list[memoryview] = []

    def add(self, pieces: Sequence[Piece]) -> None:
        """Append pieces, whose memory has to stay as it is until they are let go."""
        self._tail = None
        self._pieces.extend(pieces)

    def keep(self, piece: Piece) -> None:
        """Append a small piece."""
        tail = self._tail
        if tail is None or len(tail) > _TAIL:
            self._tail = tail = bytearray()
            self._pieces.append(tail)
        tail += piece

    def copy(self, pieces: Sequence[Piece], begin: int, size: int) -> None:
        """Append what begins at a position as a copy."""
        at = self._at
        block = self._block
        if at + size > len(block):
            if len(block):
                self._full.append((begin, block))
            self._block = block = self._taken(size)
            at = 0
        self._at = at + size
        self._tail = None
        self._pieces.append(block[at : at + size])
        for piece in pieces:
            end = at + len(piece)
            block[at:end] = piece
            at = end

    def _taken(self, size: int) -> memoryview:
        spare = self._spare
        if spare and len(spare[-1]) >= size:
            return spare.pop()
        return memoryview(bytearray(max(size, _BLOCK)))

    def let_go(self, position: int) -> None:
        """Forget the pieces that lie before a position."""
        pieces, start = self._pieces, self.start
        while pieces and start + len(pieces[0]) <= position:
            start += len(pieces.popleft())
        self.start = start
        if not pieces:
            self._tail = None
        full = self._full
        while full and full[0][0] <= start:
            _, block = full.popleft()
            if len(self._spare) < _SPARE:
                self._spare.append(block)

    def since(self, position: int) -> list[Piece]:
        """Return what lies behind a position, which is not before `start`."""
        self._tail = None  # what is lent cannot grow
        rest: list[Piece] = []
        skipped = position - self.start
        for piece in self._pieces:
            if skipped >= len(piece):
                skipped -= len(piece)
            elif skipped:
                rest.append(memoryview(piece)[skipped:])
                skipped = 0
            else:
                rest.append(piece)
        return rest

    def clear(self) -> None:
        """Forget all."""
        self._tail = None
        self._pieces.clear()
        self._full.clear()
        self._spare.clear()


def drop(pieces: list[Piece], count: int) -> None:
    """Remove the first `count` bytes, which are less than there are."""
    done = 0
    for piece in pieces:
        if count < len(piece):
            break
        count -= len(piece)
        done += 1
    del pieces[:done]
    if count:
        pieces[0] = memoryview(pieces[0])[count:]


def total(pieces: Sequence[Piece]) -> int:
    """Return how many bytes pieces have."""
    return sum(map(len, pieces))
