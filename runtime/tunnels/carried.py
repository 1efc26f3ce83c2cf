"""One connection at one end of a tunnel: what it holds, and what may be read and sent. Pure."""

from __future__ import annotations

from collections import deque

from runtime.tunnels.frames import PIECE, WINDOW


class Carried:
    """The two directions of a connection that a tunnel carries.

    *Outwards* goes what the process here writes, as long as the other end has room. *Inwards* comes
    what the other end sends; it is held until the process here takes it, and never more than a
    window of it.

    >>> one = Carried()
    >>> one.outwards(b"hello"), one.room == WINDOW - 5
    (True, True)
    >>> one.inwards(b"world"), bytes(one.next_piece())
    (True, b'world')
    """

    __slots__ = ("_consumed", "_held", "_waiting", "has_shut", "is_shut", "room")

    def __init__(self) -> None:
        self.room = WINDOW
        """How many bytes the other end takes now."""
        self.has_shut = False
        """Whether the process here writes no more."""
        self.is_shut = False
        """Whether the other end sends no more."""
        self._held = 0
        self._consumed = 0
        self._waiting: deque[memoryview] = deque()

    @property
    def may_read(self) -> int:
        """How many bytes may be read of the process here; 0 if it has to wait, or has ended."""
        return 0 if self.has_shut else min(self.room, PIECE)

    @property
    def holds(self) -> bool:
        """Whether the process here has something to take."""
        return bool(self._waiting)

    @property
    def is_over(self) -> bool:
        """Whether nothing more goes either way."""
        return self.has_shut and self.is_shut and not self._waiting

    def outwards(self, data: bytes) -> bool:
        """Count bytes that were read here; False if there are none, which is the end of them."""
        self.room -= len(data)
        self.has_shut = self.has_shut or not data
        return bool(data)

    def inwards(self, data: bytes) -> bool:
        """Hold bytes of the other end; False if it has sent more than it may."""
        self._held += len(data)
        if self._held > WINDOW or self.is_shut:
            return False
        if data:
            self._waiting.append(memoryview(data))
        return True

    def next_piece(self) -> memoryview:
        """Return what the process here has to take first."""
        return self._waiting[0]

    def taken(self, count: int) -> int:
        """Count bytes that it has taken; return how much room to give, 0 if little.

        Room is given for half a window at a time, and behind the last bytes for none.
        """
        piece = self._waiting[0]
        if count < len(piece):
            self._waiting[0] = piece[count:]
        else:
            self._waiting.popleft()
        self._held -= count
        self._consumed += count
        if self._consumed < WINDOW // 2 or self.is_shut:
            return 0
        given, self._consumed = self._consumed, 0
        return given
