"""The lock of one window at its target: exclusive or shared, first come first served."""

from __future__ import annotations

from collections import deque


class LockQueue:
    """Who has the lock, and who waits for it, in their order.

    Shared ones are granted together, but none that came later than an exclusive one that waits.

    >>> lock = LockQueue()
    >>> lock.ask(1, exclusive=False)
    >>> lock.ask(2, exclusive=True)
    >>> lock.ask(3, exclusive=False)
    >>> [lock.waits(one) for one in (1, 2, 3)]
    [False, True, True]
    >>> lock.give_back(1), lock.give_back(2)
    ([2], [3])
    """

    def __init__(self) -> None:
        self.holders: set[int] = set()
        """Who has it now."""
        self.is_exclusive = False
        """Whether its holder has it alone."""
        self._waiting: deque[tuple[int, bool]] = deque()

    def ask(self, source: int, *, exclusive: bool) -> None:
        """Ask for the lock, which may be granted at once."""
        self._waiting.append((source, exclusive))
        self._grant()

    def waits(self, source: int) -> bool:
        """Return whether a process has asked for the lock and does not have it."""
        return bool(self._waiting) and any(one == source for one, _ in self._waiting)

    def give_back(self, source: int) -> list[int]:
        """Take the lock back, or forget who asked for it; return who has got it therefore."""
        self.holders.discard(source)
        if self._waiting:
            self._waiting = deque(one for one in self._waiting if one[0] != source)
        return self._grant()

    def _grant(self) -> list[int]:
        found = []
        while self._waiting:
            source, exclusive = self._waiting[0]
            if self.holders and (exclusive or self.is_exclusive):
                break
            self._waiting.popleft()
            self.holders.add(source)
            self.is_exclusive = exclusive
            found.append(source)
        return found
