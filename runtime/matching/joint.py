"""Matching when senders are on two sides: some in the same native MPI, others far away.

Native MPI matches what its own senders send, and can be told to wait for a message, but nobody can
take back in time what it was told. So it is not told of a receive that a far sender may satisfy
too, nor of one whose memory depends on the size of the message: those are *sought*, native MPI is
asked now and then if it has something for them. While one is, later receives that could take
messages away from it are held back, and sought as well.
"""

from __future__ import annotations

from collections import deque

from runtime.matching.asks import Posted
from runtime.matching.envelope import ANY, EXACT, Envelope, Pattern
from runtime.matching.queues import Matcher

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from typing import Any, Protocol

    from runtime.matching.envelope import Key

    class Near(Protocol):
        """What native MPI is asked to do."""

        def give(self, asked: JointReceive) -> None:
            """Wait for a message from a near sender; it can be left alone from now on."""

        def peek(self, pattern: Pattern) -> Envelope | None:
            """Return what is written on the first message that is there and fits."""

        def take(self, asked: JointReceive, envelope: Envelope) -> bool:
            """Take the first message with this envelope; False if it is not there any more."""


ANYTHING = Pattern(ANY, ANY, ANY)

PROBES = 16
"""For how many patterns native MPI is asked at most where one question was not enough."""


class JointReceive(Posted):
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
    """Brings receives and messages of both sides together. Not safe for threads.

    The ranks of near and of far senders differ, so all receives that are here can be in one queue.
    """

    def __init__(self, near: Near) -> None:
        self._near = near
        self._all = Matcher()
        self._sought = 0
        self._turns: deque[Key] = deque()
        self.queue: dict[Key, deque[JointReceive]] = {}
        """The receives for which native MPI has to be asked, in one line for each pattern."""
        self.near_first = False
        """Where to look first for what can come from both sides; each side has its turn."""

    def post(self, asked: JointReceive) -> None:
        """Ask for a message; it has come from a far sender, or will, or native MPI has it."""
        if not asked.near:
            if not self._all.meet(asked):
                self._all.asks.add(asked)
            return
        if asked.far:
            if self.near_first and self._take_at_once(asked):
                return
            if self._all.meet(asked):
                self.near_first = True
                return
        if not asked.sought and not self.holds_back(asked.pattern):
            self._near.give(asked)
            return
        self.queue[asked.pattern.key] = self._all.asks.add(asked)
        self._sought += asked.sought
        while asked.number and self._seek(asked.pattern):
            pass

    def _take_at_once(self, asked: JointReceive) -> bool:
        found = self._near.peek(asked.pattern)
        if found is None or self.wants(found) or not self._near.take(asked, found):
            return False
        self.near_first = False
        return True

    def arrive(self, envelope: Envelope, message: Any) -> JointReceive | None:
        """Give a message of a far sender to the first that asked, and return that, or keep it."""
        asked: JointReceive | None = self._all.arrive(envelope, message)
        if asked is not None and asked.near:
            self._forget(asked)
        return asked

    def look(self) -> bool:
        """Let native MPI have what it may wait for now, and take what it has; False for nothing.

        Mostly one question is enough. Where the first message is one that nobody here has asked
        for there may be others behind it, and some of the patterns have their turn.
        """
        moved = False
        while self._sought and (found := self._next(is_burst=moved)) is not None:
            asked: JointReceive | None = self._all.asks.first(found)
            if asked is None:
                moved |= self._look_behind()
                break
            if not self._take(asked, found):
                break
            moved = True
        if self.queue and not self._sought:
            self._give_all()
            moved = True
        return moved

    def _next(self, *, is_burst: bool) -> Envelope | None:
        found = self._near.peek(ANYTHING)
        if found is None and is_burst:  # the question in vain may have let the next one come in
            found = self._near.peek(ANYTHING)
        return found

    def _look_behind(self) -> bool:
        if not self._turns:
            self._turns.extend(self.queue)
        moved = False
        for _ in range(min(len(self._turns), PROBES)):
            key = self._turns.popleft()
            while (line := self.queue.get(key)) is not None and self._seek(line[0].pattern):
                moved = True
        return moved

    def hand_over(self, envelope: Envelope) -> bool:
        """Let the first that waits get a near message that it `wants`; False if it is gone."""
        asked: JointReceive = self._all.asks.first(envelope)
        return self._seek(asked.pattern)

    def _seek(self, pattern: Pattern) -> bool:
        """Let the first that asked have the first near message that fits; False for nothing."""
        while (found := self._near.peek(pattern)) is not None:
            asked: JointReceive = self._all.asks.first(found)
            if asked.pattern.key == pattern.key:
                return self._take(asked, found)
            pattern = asked.pattern  # which may fit an earlier message of the same sender
        return False

    def _take(self, asked: JointReceive, found: Envelope) -> bool:
        if not self._near.take(asked, found):
            return False
        self._all.asks.remove(asked)
        self._forget(asked)
        return True

    def _give_all(self) -> None:
        """Leave what is only held back to native MPI, which knows the order."""
        for asked in tuple(self._all.asks):
            if asked.near:
                self._all.asks.remove(asked)
                self._forget(asked)
                self._near.give(asked)

    def _forget(self, asked: JointReceive) -> None:
        """Ask native MPI no longer for what is not in the queue of all any more."""
        self._sought -= asked.sought
        key = asked.pattern.key
        if not self.queue[key]:
            del self.queue[key]

    def cancel(self, asked: JointReceive) -> bool:
        """Wait for it no longer; False if it has come or native MPI has it."""
        if not self._all.asks.remove(asked):
            return False
        if asked.near:
            self._forget(asked)
        return True

    def holds_back(self, pattern: Pattern) -> bool:
        """Tell whether an earlier receive could lose a near message to one with this pattern."""
        if not self.queue:
            return False
        if pattern.shape is EXACT:
            return self._all.asks.first(pattern.key) is not None
        return any(line[0].pattern.overlaps(pattern) for line in self.queue.values())

    def wants(self, envelope: Envelope) -> bool:
        """Tell whether a near message is for a receive that is sought or held back here."""
        return self._all.asks.first(envelope) is not None

    def find(self, pattern: Pattern) -> tuple[Envelope, Any] | None:
        """Return the first kept message of a far sender that fits, and leave it where it is."""
        return self._all.find(pattern)

    def pending(self) -> list[JointReceive]:
        """Return all receives that are here, in the order of their posts."""
        return list(self._all.asks)

    def pick(self, envelope: Envelope) -> Any:
        """Take away the first kept message of a far sender with an envelope that `find` found."""
        return self._all.post(Pattern(*envelope)).message

    def kept(self) -> list[tuple[Envelope, Any]]:
        """Return the messages of far senders that nobody has asked for, and leave them here."""
        return list(self._all.kept())

    def drain(self) -> list[Any]:
        """Return and forget all messages that are kept."""
        return [self.pick(found) for found in list(self._all.unexpected())]
