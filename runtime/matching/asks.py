"""Pending receives, found at once by the envelope of a message."""

from __future__ import annotations

from collections import deque

from runtime.matching.envelope import EXACT, Envelope, Pattern, generalised

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from runtime.matching.envelope import Key, Shape


class Posted:
    """A posted receive; `envelope` and `message` are set once a message has matched."""

    __slots__ = ("envelope", "message", "number", "pattern")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.envelope: Envelope | None = None
        self.message: Any = None
        self.number = 0
        """Its position among all pending receives; 0 while it is not pending."""

    @property
    def has_come(self) -> bool:
        """Whether a message has matched."""
        return self.envelope is not None


class Asks:
    """Pending receives, in one queue per pattern.

    A message goes to the oldest receive at the heads of the queues that match it.
    """

    def __init__(self) -> None:
        self._lines: dict[Key, deque[Any]] = {}
        self._shapes: dict[Shape, int] = {}
        self._posts = 0

    def add(self, asked: Posted) -> deque[Any]:
        """Add a receive; return the queue of its pattern."""
        self._posts += 1
        asked.number = self._posts
        pattern = asked.pattern
        line = self._lines.get(pattern.key)
        if line is not None:
            line.append(asked)
            return line
        line = self._lines[pattern.key] = deque((asked,))
        if pattern.shape is not EXACT:
            self._shapes[pattern.shape] = self._shapes.get(pattern.shape, 0) + 1
        return line

    def remove(self, asked: Posted) -> bool:
        """Remove a receive; return False if it is not pending."""
        if not asked.number:
            return False
        asked.number = 0
        pattern = asked.pattern
        line = self._lines[pattern.key]
        if line[0] is asked:
            line.popleft()
        else:
            line.remove(asked)
        if not line:
            del self._lines[pattern.key]
            if pattern.shape is not EXACT:
                self._forget_one_of(pattern.shape)
        return True

    def _forget_one_of(self, shape: Shape) -> None:
        self._shapes[shape] -= 1
        if not self._shapes[shape]:
            del self._shapes[shape]

    def first(self, envelope: Key) -> Any:
        """Return the oldest receive that a message matches, or None."""
        line = self._lines.get(envelope)
        first = None if line is None else line[0]
        for shape in self._shapes:
            line = self._lines.get(generalised(envelope, shape))
            if line is not None and (first is None or line[0].number < first.number):
                first = line[0]
        return first

    def __iter__(self) -> Iterator[Any]:
        """Yield all pending receives, oldest first."""
        every = [asked for line in self._lines.values() for asked in line]
        return iter(sorted(every, key=lambda asked: asked.number))
