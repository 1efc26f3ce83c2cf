"""What has come and is not asked for, found at once by what somebody asks for."""

from __future__ import annotations

from collections import deque

from runtime.matching.envelope import EXACT, Envelope, Pattern, generalised

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from runtime.matching.envelope import Key, Shape

SLACK = 64
"""How many messages more than are left may have been taken before lines are made anew."""


class KeptMessage:
    """One message; who takes it makes its number 0."""

    __slots__ = ("envelope", "message", "number")

    def __init__(self, envelope: Envelope, message: Any, number: int) -> None:
        self.envelope = envelope
        self.message = message
        self.number = number


class Keeping:
    """Messages in the order in which they came, in one line for each envelope.

    For wildcards there are lines for each shape that somebody has asked for. They are made when it
    is asked for first, and what is taken leaves them when it comes to be their first, or with them.
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
        """Return the first message that fits, and leave it where it is."""
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
        """Keep a message no longer that `first` has returned; return it."""
        line = self._lines[kept.envelope]
        line.popleft()  # whatever fits one pattern, the first of its envelope comes first
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
        """Yield all, the first that came first."""
        every = [kept for line in self._lines.values() for kept in line]
        return iter(sorted(every, key=lambda kept: kept.number))
