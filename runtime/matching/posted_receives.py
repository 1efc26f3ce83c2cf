"""Pending receives, found at once by the envelope of a message."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.matching.envelope import EXACT, Envelope, Pattern, generalised

if TYPE_CHECKING:
    from runtime.matching.envelope import Key, Shape


class PostedReceive:
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


class PostedReceives:
    """Pending receives, in one queue per pattern.

    A message goes to the oldest receive at the heads of the queues that match it.
    """

    def __init__(self) -> None:
        self._queues: dict[Key, deque[Any]] = {}
        self._shapes: dict[Shape, int] = {}
        self._posts = 0

    def add(self, receive: PostedReceive) -> deque[Any]:
        """Add a receive; return the queue of its pattern."""
        self._posts += 1
        receive.number = self._posts
        pattern = receive.pattern
        queue = self._queues.get(pattern.key)
        if queue is not None:
            queue.append(receive)
            return queue
        queue = self._queues[pattern.key] = deque((receive,))
        if pattern.shape is not EXACT:
            self._shapes[pattern.shape] = self._shapes.get(pattern.shape, 0) + 1
        return queue

    def remove(self, receive: PostedReceive) -> bool:
        """Remove a receive; return False if it is not pending."""
        if not receive.number:
            return False
        receive.number = 0
        pattern = receive.pattern
        queue = self._queues[pattern.key]
        if queue[0] is receive:
            queue.popleft()
        else:
            queue.remove(receive)
        if not queue:
            del self._queues[pattern.key]
            if pattern.shape is not EXACT:
                self._forget_one_of(pattern.shape)
        return True

    def _forget_one_of(self, shape: Shape) -> None:
        self._shapes[shape] -= 1
        if not self._shapes[shape]:
            del self._shapes[shape]

    def first(self, envelope: Key) -> Any:
        """Return the oldest receive that a message matches, or None."""
        queue = self._queues.get(envelope)
        first = None if queue is None else queue[0]
        for shape in self._shapes:
            queue = self._queues.get(generalised(envelope, shape))
            if queue is not None and (first is None or queue[0].number < first.number):
                first = queue[0]
        return first

    def __iter__(self) -> Iterator[Any]:
        every = [receive for queue in self._queues.values() for receive in queue]
        return iter(sorted(every, key=lambda receive: receive.number))
