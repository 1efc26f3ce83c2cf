"""Messages that arrived before their receive was posted, found at once by pattern."""

from __future__ import annotations

from collections import deque

from runtime.matching.envelope import EXACT, Envelope, Pattern, generalised

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from runtime.matching.envelope import Key, Shape

SLACK = 64
"""Queues are rebuilt once they hold this many more taken messages than kept ones."""


class KeptMessage:
    """A kept message; its number is 0 once it is taken."""

    __slots__ = ("envelope", "message", "number")

    def __init__(self, envelope: Envelope, message: Any, number: int) -> None:
        self.envelope = envelope
        self.message = message
        self.number = number


class Keeping:
    """Messages in order of arrival, in one queue per envelope.

    For patterns with wildcards there is one queue per shape, made when that shape is first asked
    for. Taken messages are removed from these queues lazily: when they reach the head, or when the
    queue is rebuilt.
    """

    def __init__(self) -> None:
        self._lines: dict[Key, deque[KeptMessage]] = {}
        self._of_shape: dict[Shape, dict[Key, deque[KeptMessage]]] = {}
        self._arrivals = 0
        self._left = 0
        self._taken = 0

    def add(self, envelope: Envelope, message: Any) -> None:
        """Keep a message."""
        self._arrivals += 1
        self._left += 1
        kept = KeptMessage(envelope, message, self._arrivals)
        line = self._lines.get(envelope)
        if line is None:
            self._lines[envelope] = deque((kept,))
        else:
            line.append(kept)
        for shape, lines in self._of_shape.items():
            lines.setdefault(generalised(envelope, shape), deque()).append(kept)

    def first(self, pattern: Pattern) -> KeptMessage | None:
        """Return the first message that matches, without removing it."""
        if not self._lines:
            return None
        if pattern.shape is EXACT:
            line = self._lines.get(pattern.key)
            return line[0] if line else None
        lines = self._of_shape.get(pattern.shape)
        if lines is None:
            lines = self._of_shape[pattern.shape] = self._arranged(pattern.shape)
        line = lines.get(pattern.key)
        while line:
            if line[0].number:
                return line[0]
            line.popleft()
        lines.pop(pattern.key, None)
        return None

    def take(self, kept: KeptMessage) -> Any:
        """Remove a message that `first` has returned, and return it."""
        line = self._lines[kept.envelope]
        line.popleft()  # whatever matches a pattern, the oldest of its envelope comes first
        if not line:
            del self._lines[kept.envelope]
        message, kept.message, kept.number = kept.message, None, 0
        self._left -= 1
        if self._of_shape:
            self._taken += 1
            if self._taken > self._left + SLACK:
                self._of_shape.clear()
                self._taken = 0
        return message

    def _arranged(self, shape: Shape) -> dict[Key, deque[KeptMessage]]:
        lines: dict[Key, deque[KeptMessage]] = {}
        for kept in self:
            lines.setdefault(generalised(kept.envelope, shape), deque()).append(kept)
        return lines

    def __iter__(self) -> Iterator[KeptMessage]:
        """Yield all messages, oldest first."""
        every = [kept for line in self._lines.values() for kept in line]
        return iter(sorted(every, key=lambda kept: kept.number))
