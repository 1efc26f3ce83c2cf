"""The two queues of a receiver: what is asked for and has not come, what came and is not asked for.

At any moment nothing in the one fits anything in the other. Messages with the same envelope are
taken in the order in which they arrived, and so are those of one sender that fit one pattern.
"""

from __future__ import annotations

from runtime.matching.asks import Asks, Posted
from runtime.matching.envelope import Envelope, Pattern
from runtime.matching.kept import Keeping

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Matcher:
    """Brings messages and those who wait for them together. Not safe for threads.

    >>> matcher = Matcher()
    >>> matcher.arrive(Envelope("ocean", 1, 5), "hot")
    >>> matcher.post(Pattern("ocean", 1, 5)).message
    'hot'
    """

    def __init__(self) -> None:
        self.asks = Asks()
        """What is asked for; who adds to it knows that nothing fits that has come."""
        self._kept = Keeping()

    def post(self, pattern: Pattern) -> Posted:
        """Ask for a message; what is returned has come already, or will be given one later."""
        asked = Posted(pattern)
        if not self.meet(asked):
            self.asks.add(asked)
        return asked

    def meet(self, asked: Posted) -> bool:
        """Give it the first message that fits, of those that have come; False if there is none."""
        kept = self._kept.first(asked.pattern)
        if kept is None:
            return False
        asked.envelope, asked.message = kept.envelope, self._kept.take(kept)
        return True

    def arrive(self, envelope: Envelope, message: Any) -> Any:
        """Give a message to the first that asked for one like it, and return that, or keep it."""
        asked = self.asks.first(envelope)
        if asked is None:
            self._kept.add(envelope, message)
            return None
        self.asks.remove(asked)
        asked.envelope, asked.message = envelope, message
        return asked

    def cancel(self, asked: Posted) -> None:
        """Wait for it no longer; nothing happens if it has come."""
        self.asks.remove(asked)

    def find(self, pattern: Pattern) -> tuple[Envelope, Any] | None:
        """Return the first kept message that fits, and leave it where it is."""
        kept = self._kept.first(pattern)
        return None if kept is None else (kept.envelope, kept.message)

    def unexpected(self) -> Iterator[Envelope]:
        """Yield the envelopes of all kept messages, in the order in which they arrived."""
        for kept in self._kept:
            yield kept.envelope

    def kept(self) -> Iterator[tuple[Envelope, Any]]:
        """Yield all kept messages with their envelopes, in the order in which they arrived."""
        for kept in self._kept:
            yield kept.envelope, kept.message

    @property
    def waiting(self) -> tuple[Pattern, ...]:
        """What is asked for and has not come, the first asked for first."""
        return tuple(asked.pattern for asked in self.asks)
