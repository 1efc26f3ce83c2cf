"""What is asked for and has not come, found at once by what is written on a message."""

from __future__ import annotations

from collections import deque

from runtime.matching.envelope import EXACT, Envelope, Pattern, generalised

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from runtime.matching.envelope import Key, Shape


class Posted:
    """A pattern that somebody waits for; `envelope` and `message` are there once it has come."""

    __slots__ = ("envelope", "message", "number", "pattern")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.envelope: Envelope | None = None
        self.message: Any = None
        self.number = 0
        """Its place among all that was asked for; 0 while it is not waited for."""

    @property
    def has_come(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.envelope is not None


class Asks:
    """What is asked for, in one line for each pattern.

    The first of several lines that a message fits is the one whose first was asked for first.
    """

    def __init__(self) -> None:
        self._lines: dict[Key, deque[Any]] = {}
        self._shapes: dict[Shape, int] = {}
        self._posts = 0

    def add(self, asked: Posted) -> deque[Any]:
        """Wait for a message; return the line of all that have the same pattern."""
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
        """Wait for it no longer; False if that is so already."""
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
        """Return what was asked for first of all that a message fits, or None."""
        line = self._lines.get(envelope)
        first = None if line is None else line[0]
        for shape in self._shapes:
            line = self._lines.get(generalised(envelope, shape))
            if line is not None and (first is None or line[0].number < first.number):
                first = line[0]
        return first

    def __iter__(self) -> Iterator[Any]:
        """Yield all, the first asked for first."""
        every = [asked for line in self._lines.values() for asked in line]
        return iter(sorted(every, key=lambda asked: asked.number))
