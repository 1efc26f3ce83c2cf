"""Matching when senders are on two sides: some in the same native MPI, others far away.

Native MPI matches what its own senders send, and can be told to wait for a message, but nobody can
take back in time what it was told. So it is not told of a receive that a far sender may satisfy
too, nor of one whose memory depends on the size of the message: those are *sought*, native MPI is
asked now and then if it has something for them. While one is, later receives that could take
messages away from it are held back, and sought as well.
"""

from __future__ import annotations

from runtime.matching.envelope import Envelope, Pattern
from runtime.matching.queues import Matcher, Posted

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Near(Protocol):
        """What native MPI is asked to do."""

        def give(self, asked: Asked) -> None:
            """Wait for a message from a near sender; it can be left alone from now on."""

        def peek(self, pattern: Pattern) -> Envelope | None:
            """Return what is written on the first message that is there and fits."""

        def take(self, asked: Asked, envelope: Envelope) -> bool:
            """Take the first message with this envelope; False if it is not there any more."""


class Asked(Posted):
    """A receive: from which sides it can be satisfied, and whether native MPI must be asked.

    `owner` is who wants to know.
    """

    __slots__ = ("far", "near", "owner", "sought")

    def __init__(
        self, pattern: Pattern, owner: Any, *, near: bool, far: bool, sought: bool = False
    ) -> None:
        super().__init__(pattern)
        self.owner = owner
        self.near = near
        self.far = far
        self.sought = sought or (near and far)


class JointMatcher:
    """Brings receives and messages of both sides together. Not safe for threads."""

    def __init__(self, near: Near) -> None:
        self._near = near
        self._far = Matcher()
        self.queue: list[Asked] = []
        """The receives for which native MPI has to be asked, in the order of their posts."""
        self.near_first = False
        """Where to look first for what can come from both sides; each side has its turn."""

    def post(self, asked: Asked) -> None:
        """Ask for a message; it has come from a far sender, or will, or native MPI has it."""
        if asked.near and asked.far and self.near_first and self._take_at_once(asked):
            return
        if asked.far:
            self._far.enter(asked)
            if asked.has_come:
                self.near_first = True
                return
        if asked.near:
            if asked.sought or self.holds_back(asked.pattern):
                self.queue.append(asked)
                self.look()
            else:
                self._near.give(asked)

    def _take_at_once(self, asked: Asked) -> bool:
        found = self._near.peek(asked.pattern)
        if found is None or self.holds_back(asked.pattern) or not self._near.take(asked, found):
            return False
        self.near_first = False
        return True

    def arrive(self, envelope: Envelope, message: Any) -> Asked | None:
        """Give a message of a far sender to whoever asked first, and return that, or keep it."""
        asked = self._far.arrive(envelope, message)
        if not isinstance(asked, Asked):
            return None
        if asked.near:
            self.queue.remove(asked)
        return asked

    def look(self) -> bool:
        """Let native MPI have what it may wait for now, and take what it has; False for nothing."""
        moved = False
        while self._look_once():
            moved = True
        return moved

    def _look_once(self) -> bool:
        for place, asked in enumerate(self.queue):
            is_free = not any(one.pattern.overlaps(asked.pattern) for one in self.queue[:place])
            if is_free and not asked.sought:
                del self.queue[place]
                self._near.give(asked)
                return True
            found = self._near.peek(asked.pattern)
            if found is None:
                continue
            if any(earlier.pattern.fits(found) for earlier in self.queue[:place]):
                return True  # it came after they were asked about
            if self._near.take(asked, found):
                del self.queue[place]
                if asked.far:
                    self._far.cancel(asked)
                return True
        return False

    def cancel(self, asked: Asked) -> bool:
        """Wait for it no longer; False if it has come or native MPI has it."""
        is_queued, is_posted = asked in self.queue, asked in self._far.posted
        if is_queued:
            self.queue.remove(asked)
        if is_posted:
            self._far.cancel(asked)
        return is_queued or is_posted

    def holds_back(self, pattern: Pattern) -> bool:
        """Tell whether an earlier receive could lose a message to one with this pattern."""
        return any(earlier.pattern.overlaps(pattern) for earlier in self.queue)

    def wants(self, envelope: Envelope) -> bool:
        """Tell whether a near message is for a receive that is sought or held back here."""
        return any(asked.pattern.fits(envelope) for asked in self.queue)

    def find(self, pattern: Pattern) -> tuple[Envelope, Any] | None:
        """Return the first kept message of a far sender that fits, and leave it where it is."""
        envelope = self._far.find(pattern)
        return None if envelope is None else (envelope, self._far.first(envelope))

    def pending(self) -> list[Asked]:
        """Return all receives that are here, those that only native MPI can satisfy last."""
        far = [asked for asked in self._far.posted if isinstance(asked, Asked)]
        return far + [asked for asked in self.queue if not asked.far]

    def pick(self, envelope: Envelope) -> Any:
        """Take away the first kept message of a far sender with an envelope that `find` found."""
        return self._far.post(Pattern(*envelope)).message

    def drain(self) -> list[Any]:
        """Return and forget all messages that are kept."""
        return [self.pick(found) for found in list(self._far.unexpected())]
