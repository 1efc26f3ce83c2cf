"""The life of a peer, as far as one rank knows it. A machine without input, output or clock.

A rank sees by itself that nothing leads to a peer any more, or that the peer has said goodbye. It
does not see whether the peer has ended: the network between them may be cut, or a firewall refuses
connections. Where others see the ends of ranks (the launcher, over the front-ends) they decide. A
rank tells them what it suspects, and loses nobody without them, so that all ranks agree.

A peer of which others have seen the end is still read: its last words may be on their way.
"""

from __future__ import annotations

from enum import StrEnum

from runtime.transitions import change
from runtime.wire.errors import PeerLeft, PeerLost

EXPLAIN_TIMEOUT = 2.0
"""Seconds in which it becomes known how a peer has ended, where others see that."""

LAST_WORDS_TIMEOUT = 1.0
"""Seconds for which nothing more has come of a peer that has failed until its connection is left.

It ends by itself before, unless the end got lost on its way, or a child of the peer has it open.
"""

LAST_WORDS_HERE = 0.05
"""The same on one machine, where what a process had sent is there when it has ended."""


class PeerStage(StrEnum):
    """What is known of a peer; LOST is final."""

    LIVES = "lives"
    """Nothing says that it has ended, though its connection may be interrupted."""
    SUSPECTED = "suspected"
    """It could not be reached for too long; others decide, and it is tried on meanwhile."""
    UNEXPLAINED = "unexplained"
    """Its connection is gone for good; those who see ends are about to say why."""
    APPEALED = "appealed"
    """The same, and nobody has said why; others decide."""
    EXPLAINED = "explained"
    """Others have seen how it has ended; its last words are read."""
    LOST = "lost"
    """Nothing more comes from it."""


class PeerEvent(StrEnum):
    """What happens to a peer."""

    UNREACHABLE = "nothing leads to it"
    GONE = "its connection is gone for good"
    UNNOTICED = "nobody has said how it has ended"
    REACHED = "there is a connection to it"
    SEEN = "others have seen its end"
    ENDED = "nothing more comes from it"


_S, _E = PeerStage, PeerEvent
GONE = frozenset({_S.UNEXPLAINED, _S.APPEALED, _S.LOST})
"""Where no connection is opened to it."""

_SUSPICIONS = (_S.SUSPECTED, _S.APPEALED)

TRANSITIONS: dict[tuple[PeerStage, PeerEvent], PeerStage] = {
    (_S.LIVES, _E.UNREACHABLE): _S.SUSPECTED,
    (_S.LIVES, _E.GONE): _S.UNEXPLAINED,
    (_S.SUSPECTED, _E.GONE): _S.APPEALED,  # others know already
    (_S.UNEXPLAINED, _E.UNNOTICED): _S.APPEALED,
    **{(one, _E.REACHED): _S.LIVES for one in (_S.SUSPECTED, _S.UNEXPLAINED, _S.APPEALED)},
    **{(one, _E.SEEN): _S.EXPLAINED for one in (_S.LIVES, _S.SUSPECTED)},
    **{(one, _E.SEEN): _S.LOST for one in (_S.UNEXPLAINED, _S.APPEALED)},  # all has been read
    **{(one, _E.ENDED): _S.LOST for one in _S},
}
"""What each event leads to in each stage; a pair without a row changes nothing."""


class PeerLife:
    """One peer, which messages name as `str(who)`: its stage and the `reason` for it."""

    def __init__(self, who: object) -> None:
        self._who = who
        self.stage = PeerStage.LIVES
        self.reason: PeerLost | None = None
        """Why it is suspected, gone, or lost."""
        self.deadline: float | None = None
        """When `tick` has to be called."""
        self._position = 0  # how much had come when its last words were waited for

    @property
    def is_suspected(self) -> bool:
        """Whether others were asked to decide about it."""
        return self.stage in _SUSPICIONS

    def suspect(self, why: PeerLost) -> bool:
        """Record that nothing leads to it; return whether others have to be told of that now."""
        return self._advance(PeerEvent.UNREACHABLE, why)

    def lose_sight(self, why: PeerLost, now: float) -> None:
        """Record that it cannot be reached again, where others see whether it has ended."""
        if self._advance(PeerEvent.GONE, why) and self.stage is PeerStage.UNEXPLAINED:
            self.deadline = now + EXPLAIN_TIMEOUT

    def reached(self) -> bool:
        """Record a connection to it; return whether a suspicion has to be taken back."""
        was_suspected = self.is_suspected
        self._advance(PeerEvent.REACHED, None)
        return was_suspected

    def explain(self, why: PeerLost, now: float, position: int, *, is_here: bool) -> None:
        """Record how it has ended from those who have seen it.

        `position` says how much has come of it, `is_here` that its connection is one inside a
        machine.
        """
        if self._advance(PeerEvent.SEEN, why) and self.stage is PeerStage.EXPLAINED:
            self._position = position
            self.deadline = now + (LAST_WORDS_HERE if is_here else LAST_WORDS_TIMEOUT)

    def end(self, why: PeerLost) -> None:
        """Record that nothing more comes from it; what others have seen is the better reason."""
        if self.stage is not PeerStage.LOST:
            is_explained = self.stage is PeerStage.EXPLAINED
            self._advance(PeerEvent.ENDED, self.reason if is_explained else why)

    def postpone(self, seconds: float) -> None:
        """Do not count seconds in which this process could not listen."""
        if self.deadline is not None:
            self.deadline += seconds

    def tick(self, now: float, position: int, *, has_line: bool, is_here: bool) -> bool:
        """Do what is due; return whether others have to be told of a suspicion now.

        One whose end others have seen is lost once nothing more can come, or has come for long
        enough. One that has ended in order says goodbye itself, if it can.
        """
        if self.stage is PeerStage.EXPLAINED and not has_line:
            self._advance(PeerEvent.ENDED, self.reason)
            return False
        if self.deadline is None or now < self.deadline:
            return False
        self.deadline = None
        if self.stage is PeerStage.UNEXPLAINED:
            return self._advance(PeerEvent.UNNOTICED, self.reason)
        if not isinstance(self.reason, PeerLeft):
            if position == self._position:
                self._advance(PeerEvent.ENDED, self.reason)
            else:
                self._position = position
                self.deadline = now + (LAST_WORDS_HERE if is_here else LAST_WORDS_TIMEOUT)
        return False

    def _advance(self, event: PeerEvent, why: PeerLost | None) -> bool:
        """Let something happen to it for a reason; return whether that has changed anything."""
        before = self.stage
        self.stage = change(TRANSITIONS, before, event, self._who, why.what if why else "")
        if self.stage is before:
            return False
        self.reason, self.deadline = why, None
        return True
