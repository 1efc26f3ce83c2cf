"""Matching across two sides: senders in the same native MPI, and senders in other clusters.

Native MPI matches what its own senders send, and can be told to wait for a message, but a posted
receive cannot be withdrawn in time. So it is not given a receive that a far sender may satisfy too,
nor one whose buffer depends on the size of the message: these are *sought*, that is, native MPI is
probed for them now and then. While one is, later receives that could take its messages are held
back and sought as well.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from runtime.matching.envelope import ANY, EXACT, Envelope, Pattern
from runtime.matching.posted_receives import PostedReceive
from runtime.matching.queues import Matcher

if TYPE_CHECKING:
    from runtime.matching.envelope import Key

    class Near(Protocol):
        """The operations needed of native MPI."""

        def give(self, receive: JointReceive) -> None:
            """Post a receive from a near sender; native MPI completes it."""

        def peek(self, pattern: Pattern) -> Envelope | None:
            """Probe: return the envelope of the first available message that matches."""

        def take(self, receive: JointReceive, envelope: Envelope) -> bool:
            """Receive the first message with this envelope; return False if it is gone."""


ANYTHING = Pattern(ANY, ANY, ANY)

PROBES = 16
"""The most patterns to probe native MPI for when one probe was not enough."""


class JointReceive(PostedReceive):
    """A receive, the sides that can satisfy it, and whether native MPI has to be probed for it.

    `owner` is returned to the caller that completes it.
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
    """Matches receives with messages of both sides. Not thread-safe.

    Near and far senders have different ranks, so all receives kept here share one queue.
    """

    def __init__(self, near: Near) -> None:
        self._near = near
        self._all = Matcher()
        self._sought = 0
        self._turns: deque[Key] = deque()
        self.queue: dict[Key, deque[JointReceive]] = {}
        """The receives to probe native MPI for, in one queue per pattern."""
        self.near_first = False
        """Which side to look at first for receives that both can satisfy; the sides take turns."""

    def post(self, receive: JointReceive) -> None:
        """Post a receive: it is matched by a far message now or later, or given to native MPI."""
        if not receive.near:
            if not self._all.meet(receive):
                self._all.receives.add(receive)
            return
        if receive.far:
            if self.near_first and self._take_at_once(receive):
                return
            if self._all.meet(receive):
                self.near_first = True
                return
        if not receive.sought and not self.holds_back(receive.pattern):
            self._near.give(receive)
            return
        self.queue[receive.pattern.key] = self._all.receives.add(receive)
        self._sought += receive.sought
        while receive.number and self._seek(receive.pattern):
            pass

    def _take_at_once(self, receive: JointReceive) -> bool:
        found = self._near.peek(receive.pattern)
        if found is None or self.wants(found) or not self._near.take(receive, found):
            return False
        self.near_first = False
        return True

    def arrive(self, envelope: Envelope, message: Any) -> JointReceive | None:
        """Match a far message with the oldest receive and return that, or keep the message."""
        receive: JointReceive | None = self._all.arrive(envelope, message)
        if receive is not None and receive.near:
            self._forget(receive)
        return receive

    def look(self) -> bool:
        """Give native MPI the receives it may have, and take its messages; False for none.

        Usually one probe is enough. If the first message matches no receive here there may be
        others behind it, so some of the patterns are probed in turn.
        """
        moved = False
        while self._sought and (found := self._next(is_burst=moved)) is not None:
            receive: JointReceive | None = self._all.receives.first(found)
            if receive is None:
                moved |= self._look_behind()
                break
            if not self._take(receive, found):
                break
            moved = True
        if self.queue and not self._sought:
            self._give_all()
            moved = True
        return moved

    def _next(self, *, is_burst: bool) -> Envelope | None:
        found = self._near.peek(ANYTHING)
        if found is None and is_burst:  # the probe may have let the next message in
            found = self._near.peek(ANYTHING)
        return found

    def _look_behind(self) -> bool:
        if not self._turns:
            self._turns.extend(self.queue)
        moved = False
        for _ in range(min(len(self._turns), PROBES)):
            key = self._turns.popleft()
            while (queue := self.queue.get(key)) is not None and self._seek(queue[0].pattern):
                moved = True
        return moved

    def hand_over(self, envelope: Envelope) -> bool:
        """Match a near message that the matcher `wants` with the oldest receive; False if gone."""
        receive: JointReceive = self._all.receives.first(envelope)
        return self._seek(receive.pattern)

    def _seek(self, pattern: Pattern) -> bool:
        """Match the first near message with the oldest receive it fits; False if there is none."""
        while (found := self._near.peek(pattern)) is not None:
            receive: JointReceive = self._all.receives.first(found)
            if receive.pattern.key == pattern.key:
                return self._take(receive, found)
            pattern = receive.pattern  # it may fit an earlier message of the same sender
        return False

    def _take(self, receive: JointReceive, found: Envelope) -> bool:
        if not self._near.take(receive, found):
            return False
        self._all.receives.remove(receive)
        self._forget(receive)
        return True

    def _give_all(self) -> None:
        """Give native MPI the receives that are only held back; it keeps their order."""
        for receive in tuple(self._all.receives):
            if receive.near:
                self._all.receives.remove(receive)
                self._forget(receive)
                self._near.give(receive)

    def _forget(self, receive: JointReceive) -> None:
        """Stop probing for receives that are no longer pending."""
        self._sought -= receive.sought
        key = receive.pattern.key
        if not self.queue[key]:
            del self.queue[key]

    def cancel(self, receive: JointReceive) -> bool:
        """Cancel a receive; return False if it was matched or native MPI has it."""
        if not self._all.receives.remove(receive):
            return False
        if receive.near:
            self._forget(receive)
        return True

    def holds_back(self, pattern: Pattern) -> bool:
        """Return whether a pending receive could lose a near message to one with this pattern."""
        if not self.queue:
            return False
        if pattern.shape is EXACT:
            return self._all.receives.first(pattern.key) is not None
        return any(queue[0].pattern.overlaps(pattern) for queue in self.queue.values())

    def wants(self, envelope: Envelope) -> bool:
        """Return whether a near message is for a receive that is sought or held back here."""
        return self._all.receives.first(envelope) is not None

    def find(self, pattern: Pattern) -> tuple[Envelope, Any] | None:
        """Return the first kept far message that matches, without removing it."""
        return self._all.find(pattern)

    def pending(self) -> list[JointReceive]:
        """Return all receives kept here, in the order they were posted."""
        return list(self._all.receives)

    def pick(self, envelope: Envelope) -> Any:
        """Remove the first kept far message with an envelope that `find` returned."""
        return self._all.post(Pattern(*envelope)).message

    def kept(self) -> list[tuple[Envelope, Any]]:
        """Return the unexpected messages of far senders, without removing them."""
        return list(self._all.kept())

    def drain(self) -> list[Any]:
        """Remove and return all kept messages."""
        return [self.pick(found) for found in list(self._all.unexpected())]
