"""What was written to a connection and may have to be written once more. A machine without input.

All that goes to one peer is one stream of bytes, over however many connections. The peer tells up
to which byte it has come; what lies before is let go, what lies behind can be replayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

Piece = bytes | memoryview


class Replay:
    """The last part of a stream, in the pieces in which it was made.

    >>> replay = Replay()
    >>> replay.add([b"the quick ", b"brown fox"])
    >>> replay.let_go(4)
    >>> [bytes(piece) for piece in replay.since(8)], replay.start
    ([b'k ', b'brown fox'], 0)
    """

    __slots__ = ("_pieces", "add", "start")

    def __init__(self) -> None:
        self._pieces: deque[Piece] = deque()
        self.add = self._pieces.extend
        """Append pieces, whose memory has to stay as it is until they are let go."""
        self.start = 0
        """The position of the first byte that is left."""

    def let_go(self, position: int) -> None:
        """Forget the pieces that lie before a position."""
        pieces, start = self._pieces, self.start
        while pieces and start + len(pieces[0]) <= position:
            start += len(pieces.popleft())
        self.start = start

    def since(self, position: int) -> list[Piece]:
        """Return what lies behind a position, which is not before `start`."""
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
        self._pieces.clear()


def total(pieces: Sequence[Piece]) -> int:
    """Return how many bytes pieces have."""
    return sum(map(len, pieces))
