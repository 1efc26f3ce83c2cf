"""The payload of one message on its way, which is cut into segments."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runtime.wire.stream.frames import (
    ASKS,
    MOST_COPIED,
    MOST_SEGMENT,
    OFFSET_SIZE,
    SEGMENT,
    pack_segment,
)
from runtime.wire.stream.messages import Outgoing
from runtime.wire.stream.replay import Piece, total

MOST_VIEWS = 16
"""Of one small payload; more of them are joined."""


class Stream:
    """The payload of one message on its way, or of one that waits to be matched.

    Of the `left` bytes `allowed` may go now. `weight` is what it holds of the window. It
    `has_begun` once its head is on its way, and what went of it so far ends at `end`. If it
    `is_whole` the payload went with the head, or all of it has come. One that `is_split` goes over
    several connections, so the receiver tells when it is whole; `lent` is what others than the
    first hold of its memory until then.
    """

    __slots__ = ("allowed", "asks", "end", "has_begun", "is_split", "is_whole", "left", "lent",
                 "number", "offset", "outgoing", "views", "weight")  # fmt: skip

    def __init__(self, number: int, views: Sequence[memoryview], left: int, allowed: int) -> None:
        self.number = number
        self.views = deque(views)
        self.left = left
        self.allowed = allowed
        self.asks = False
        self.end = 0
        self.has_begun = False
        self.is_whole = False
        self.is_split = False
        self.offset = 0
        self.weight = 0
        self.lent: list[list[Piece]]
        self.outgoing = Outgoing()

    def cut(self, pieces: list[Piece]) -> int:
        """Append the next segment; return how many bytes it has with its frame's head."""
        size = wanted = min(self.allowed, MOST_SEGMENT)
        flags = ASKS if self.is_split else 0
        head = pack_segment(SEGMENT, flags, OFFSET_SIZE, self.number, size, self.offset)
        pieces.append(head)
        while wanted:
            view = self.views.popleft()
            if len(view) > wanted:
                self.views.appendleft(view[wanted:])
                view = view[:wanted]
            wanted -= len(view)
            if len(view):
                pieces.append(view)
        self.offset += size
        self.left -= size
        self.allowed -= size
        return len(head) + size


def copied(
    head: Piece, behind: Sequence[Piece], stream: Stream | None
) -> tuple[Piece, Sequence[Piece], Stream | None]:
    """Copy a payload that was not sent to where it is kept, so that its message is done."""
    if stream is not None and not stream.asks and stream.left + total(behind) <= MOST_COPIED:
        behind = [b"".join(behind)]
        stream.views = deque([memoryview(b"".join(stream.views))])
        stream.outgoing.done = True
    return head, behind, stream


def few(payload: Sequence[memoryview]) -> Sequence[Piece]:
    """Return a small payload in few pieces."""
    if len(payload) <= MOST_VIEWS:
        return payload
    return [b"".join(payload)]
