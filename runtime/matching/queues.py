"""The two queues of a receiver: what is asked for and has not come, what came and is not asked for.

At any moment nothing in the one fits anything in the other. Messages with the same envelope are
taken in the order in which they arrived, and so are those of one sender that fit one pattern.
"""

from __future__ import annotations

from collections import deque

from runtime.matching.envelope import Envelope, Pattern

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Posted:
    """A pattern that somebody waits for; `envelope` and `message` are there once it has come."""

    __slots__ = ("envelope", "message", "pattern")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.envelope: Envelope | None = None
        self.message: Any = None

    @property
    def has_come(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.envelope is not None


class Matcher:
    """Brings messages and those who wait for them together. Not safe for threads.

    >>> matcher = Matcher()
    >>> matcher.arrive(Envelope("ocean", 1, 5), "hot")
    >>> matcher.post(Pattern("ocean", 1, 5)).message
    'hot'
    """

    def __init__(self) -> None:
        self._posted: list[Posted] = []
        self._unexpected: dict[Envelope, deque[tuple[int, Any]]] = {}
        self._arrivals = 0

    def post(self, pattern: Pattern) -> Posted:
        """Ask for a message; what is returned has come already, or will be given one later."""
        asked = Posted(pattern)
        self.enter(asked)
        return asked

    def enter(self, asked: Posted) -> None:
        """Ask for a message with a `Posted` that the caller made, perhaps of a class of its own."""
        envelope = self.find(asked.pattern)
        if envelope is None:
            self._posted.append(asked)
            return
        kept = self._unexpected[envelope]
        asked.envelope, asked.message = envelope, kept.popleft()[1]
        if not kept:
            del self._unexpected[envelope]

    def arrive(self, envelope: Envelope, message: Any) -> Posted | None:
        """Give a message to whoever asked first for one like it, and return that, or keep it."""
        for place, asked in enumerate(self._posted):
            if asked.pattern.fits(envelope):
                del self._posted[place]
                asked.envelope, asked.message = envelope, message
                return asked
        self._arrivals += 1
        self._unexpected.setdefault(envelope, deque()).append((self._arrivals, message))
        return None

    def cancel(self, asked: Posted) -> None:
        """Wait for it no longer; nothing happens if it has come."""
        if asked in self._posted:
            self._posted.remove(asked)

    def find(self, pattern: Pattern) -> Envelope | None:
        """Return the envelope of the first kept message that fits, and leave it where it is."""
        exact = pattern.exact
        if exact is not None:
            return exact if exact in self._unexpected else None
        fitting = [
            (kept[0][0], envelope)
            for envelope, kept in self._unexpected.items()
            if pattern.fits(envelope)
        ]
        return min(fitting)[1] if fitting else None

    def first(self, envelope: Envelope) -> Any:
        """Return the first kept message with this envelope, which `find` has found."""
        return self._unexpected[envelope][0][1]

    def unexpected(self) -> Iterator[Envelope]:
        """Yield the envelopes of all kept messages, in the order in which they arrived."""
        arrived = sorted(
            (number, envelope) for envelope, kept in self._unexpected.items() for number, _ in kept
        )
        for _, envelope in arrived:
            yield envelope

    @property
    def posted(self) -> tuple[Posted, ...]:
        """All that has not come, the first asked for first."""
        return tuple(self._posted)

    @property
    def waiting(self) -> tuple[Pattern, ...]:
        """What is asked for and has not come, the first asked for first."""
        return tuple(asked.pattern for asked in self._posted)
