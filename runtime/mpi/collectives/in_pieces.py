"""A block that is received in pieces, as one operation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runtime.mpi.progress.landings import Exactly
from runtime.mpi.progress.operations import Operation

if TYPE_CHECKING:
    from runtime.mpi.progress.landings import Landing


class InPieces(Operation):
    """Done when the last piece has arrived, which is shorter than the others.

    The sender may have more or less data than there is room for. Then a piece of another size
    arrives, which fails; but no part of the block is left for a later call to meet, and no piece is
    awaited that is never sent.
    """

    __slots__ = ("_failed", "_has_ended", "_left", "_receive", "_size")

    def __init__(
        self,
        rooms: Sequence[memoryview],
        size: int,
        receive: Callable[[Landing | None], Operation],
    ) -> None:
        """Let `receive` post pieces of `size` bytes, and of a shorter one, where they land."""
        super().__init__()
        self._size = size
        self._receive = receive
        self._left: deque[Operation] = deque()
        self._has_ended = False
        self._failed: BaseException | None = None
        for room in rooms:
            if not self._has_ended:
                self._left.append(receive(_Piece(room, self)))
        self.test()

    def comes(self, size: int) -> None:
        """Record that a piece of some size begins to arrive.

        Behind the last one nothing is posted, at once: the sender's next call may come next.
        """
        if size < self._size:
            self._has_ended = True
            for one in self._left:
                one.cancel()

    def test(self) -> bool:
        """Test the pieces."""
        left = self._left
        while not self.done and left[0].test():
            piece = left[0]
            if not piece.cancelled:
                self._failed = self._failed or piece.error
                self._has_ended = self._has_ended or piece.nbytes < self._size
            if len(left) == 1:
                if self._has_ended:
                    self.finish(self._failed)
                else:
                    left.append(self._receive(None))  # more data than there is room for
            left.popleft()  # frees the program's memory, which it refers to
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return ", ".join(one.describe() for one in self._next)

    def awaited(self) -> Sequence[int]:
        """Return the sender."""
        return [index for one in self._next for index in one.awaited()]

    @property
    def _next(self) -> Sequence[Operation]:
        """The next piece; none when it has just ended, which other threads may see."""
        return tuple(self._left)[:1]


class _Piece(Exactly):
    __slots__ = ("_block",)

    def __init__(self, memory: memoryview, block: InPieces) -> None:
        super().__init__(memory)
        self._block = block

    def room(self, size: int) -> memoryview | None:
        self._block.comes(size)
        return super().room(size)
