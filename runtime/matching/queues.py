"""The two queues of a receiver: pending receives, and unexpected messages.

No pending receive ever matches an unexpected message. Messages with the same envelope are received
in order of arrival, and so are those of one sender that match one pattern.
"""

from __future__ import annotations

from runtime.matching.asks import Asks, Posted
from runtime.matching.envelope import Envelope, Pattern
from runtime.matching.kept import Keeping

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Matcher:
    """Matches messages with receives. Not thread-safe.

    >>> matcher = Matcher()
    >>> matcher.arrive(Envelope("ocean", 1, 5), "hot")
    >>> matcher.post(Pattern("ocean", 1, 5)).message
    'hot'
    """

    def __init__(self) -> None:
        self.asks = Asks()
        """Pending receives; a caller that adds to it knows that no kept message matches."""
        self._kept = Keeping()

    def post(self, pattern: Pattern) -> Posted:
        """Post a receive; it is returned already matched, or will be matched by a later message."""
        asked = Posted(pattern)
        if not self.meet(asked):
            self.asks.add(asked)
        return asked

    def meet(self, asked: Posted) -> bool:
        """Match a receive with the first kept message that fits; return False if there is none."""
        kept = self._kept.first(asked.pattern)
        if kept is None:
            return False
        asked.envelope, asked.message = kept.envelope, self._kept.take(kept)
        return True

    def arrive(self, envelope: Envelope, message: Any) -> Any:
        """Match a message with the oldest receive and return that, or keep the message."""
        asked = self.asks.first(envelope)
        if asked is None:
            self._kept.add(envelope, message)
            return None
        self.asks.remove(asked)
        asked.envelope, asked.message = envelope, message
        return asked

    def cancel(self, asked: Posted) -> None:
        """Cancel a receive; do nothing if it was matched."""
        self.asks.remove(asked)

    def find(self, pattern: Pattern) -> tuple[Envelope, Any] | None:
        """Return the first kept message that matches, without removing it."""
        kept = self._kept.first(pattern)
        return None if kept is None else (kept.envelope, kept.message)

    def unexpected(self) -> Iterator[Envelope]:
        """Yield the envelopes of all kept messages, in order of arrival."""
        for kept in self._kept:
            yield kept.envelope

    def kept(self) -> Iterator[tuple[Envelope, Any]]:
        """Yield all kept messages with their envelopes, in order of arrival."""
        for kept in self._kept:
            yield kept.envelope, kept.message

    @property
    def waiting(self) -> tuple[Pattern, ...]:
        """The pending receives, oldest first."""
        return tuple(asked.pattern for asked in self.asks)
