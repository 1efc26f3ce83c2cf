"""Messages that arrived before their receive was posted, found at once by pattern."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.matching.envelope import EXACT, Envelope, Pattern, generalised

if TYPE_CHECKING:
    from runtime.matching.envelope import Key, Shape

SLACK = 64
"""Queues are rebuilt once they hold this many more taken messages than kept ones."""


class UnexpectedMessage:
    """A kept message; its number is 0 once it is taken."""

    __slots__ = ("envelope", "message", "number")

    def __init__(self, envelope: Envelope, message: Any, number: int) -> None:
        self.envelope = envelope
        self.message = message
        self.number = number


class UnexpectedMessages:
    """Messages in order of arrival, in one queue per envelope.

    For patterns with wildcards there is one queue per shape, made when that shape is first asked
    for. Taken messages are removed from these queues lazily: when they reach the head, or when the
    queue is rebuilt.
    """

    def __init__(self) -> None:
        self._queues: dict[Key, deque[UnexpectedMessage]] = {}
        self._of_shape: dict[Shape, dict[Key, deque[UnexpectedMessage]]] = {}
        self._arrivals = 0
        self._left = 0
        self._taken = 0

    def add(self, envelope: Envelope, message: Any) -> None:
        """Keep a message."""
        self._arrivals += 1
        self._left += 1
        kept = UnexpectedMessage(envelope, message, self._arrivals)
        queue = self._queues.get(envelope)
        if queue is None:
            self._queues[envelope] = deque((kept,))
        else:
            queue.append(kept)
        for shape, queues in self._of_shape.items():
            queues.setdefault(generalised(envelope, shape), deque()).append(kept)

    def first(self, pattern: Pattern) -> UnexpectedMessage | None:
        """Return the first message that matches, without removing it."""
        if not self._queues:
            return None
        if pattern.shape is EXACT:
            queue = self._queues.get(pattern.key)
            return queue[0] if queue else None
        queues = self._of_shape.get(pattern.shape)
        if queues is None:
            queues = self._of_shape[pattern.shape] = self._arranged(pattern.shape)
        queue = queues.get(pattern.key)
        while queue:
            if queue[0].number:
                return queue[0]
            queue.popleft()
        queues.pop(pattern.key, None)
        return None

    def take(self, kept: UnexpectedMessage) -> Any:
        """Remove a message that `first` has returned, and return it."""
        queue = self._queues[kept.envelope]
        queue.popleft()  # whatever matches a pattern, the oldest of its envelope comes first
        if not queue:
            del self._queues[kept.envelope]
        message, kept.message, kept.number = kept.message, None, 0
        self._left -= 1
        if self._of_shape:
            self._taken += 1
            if self._taken > self._left + SLACK:
                self._of_shape.clear()
                self._taken = 0
        return message

    def _arranged(self, shape: Shape) -> dict[Key, deque[UnexpectedMessage]]:
        queues: dict[Key, deque[UnexpectedMessage]] = {}
        for kept in self:
            queues.setdefault(generalised(kept.envelope, shape), deque()).append(kept)
        return queues

    def __iter__(self) -> Iterator[UnexpectedMessage]:
        every = [kept for queue in self._queues.values() for kept in queue]
        return iter(sorted(every, key=lambda kept: kept.number))
