"""The two queues of a receiver: pending receives, and unexpected messages.

No pending receive ever matches an unexpected message. Messages with the same envelope are received
in order of arrival, and so are those of one sender that match one pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.matching.envelope import Envelope, Pattern
from runtime.matching.posted_receives import PostedReceive, PostedReceives
from runtime.matching.unexpected_messages import UnexpectedMessages


class Matcher:
    """Matches messages with receives. Not thread-safe.

    >>> matcher = Matcher()
    >>> matcher.arrive(Envelope("ocean", 1, 5), "hot")
    >>> matcher.post(Pattern("ocean", 1, 5)).message
    'hot'
    """

    def __init__(self) -> None:
        self.receives = PostedReceives()
        """Pending receives; a caller that adds to it knows that no kept message matches."""
        self._unexpected = UnexpectedMessages()

    def post(self, pattern: Pattern) -> PostedReceive:
        """Post a receive; it is returned already matched, or will be matched by a later message."""
        receive = PostedReceive(pattern)
        if not self.meet(receive):
            self.receives.add(receive)
        return receive

    def meet(self, receive: PostedReceive) -> bool:
        """Match a receive with the first kept message that fits; return False if there is none."""
        kept = self._unexpected.first(receive.pattern)
        if kept is None:
            return False
        receive.envelope, receive.message = kept.envelope, self._unexpected.take(kept)
        return True

    def arrive(self, envelope: Envelope, message: Any) -> Any:
        """Match a message with the oldest receive and return that, or keep the message."""
        receive = self.receives.first(envelope)
        if receive is None:
            self._unexpected.add(envelope, message)
            return None
        self.receives.remove(receive)
        receive.envelope, receive.message = envelope, message
        return receive

    def cancel(self, receive: PostedReceive) -> None:
        """Cancel a receive; do nothing if it was matched."""
        self.receives.remove(receive)

    def find(self, pattern: Pattern) -> tuple[Envelope, Any] | None:
        """Return the first kept message that matches, without removing it."""
        kept = self._unexpected.first(pattern)
        return None if kept is None else (kept.envelope, kept.message)

    def unexpected(self) -> Iterator[Envelope]:
        """Yield the envelopes of all kept messages, in order of arrival."""
        for kept in self._unexpected:
            yield kept.envelope

    def kept(self) -> Iterator[tuple[Envelope, Any]]:
        """Yield all kept messages with their envelopes, in order of arrival."""
        for kept in self._unexpected:
            yield kept.envelope, kept.message

    @property
    def waiting(self) -> tuple[Pattern, ...]:
        """The pending receives, oldest first."""
        return tuple(receive.pattern for receive in self.receives)
