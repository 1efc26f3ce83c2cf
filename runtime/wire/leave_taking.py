"""How a rank leaves a peer at its end: what it waits for. A machine without input, output or clock.

A rank ends once each of its peers has what was sent to it and knows that nothing more comes, or has
ended, or is lost:

```
             all was sent, over a connection       the peer has it, or the system
             that both ends use                    of both keeps it to be read
  STAYING ──────────────────────────────────► SAYING ──────────────────────────► GONE
     │                                            the peer has ended, or is lost  ▲
     └────────────────────────────────────────────────────────────────────────────┘
       all was sent, and no connection is used or about to be; or it has ended, or is lost
```

No stage has a time limit. How long a peer needs says nothing about it: its machine may be slow, or
its process stopped. What ends the wait for one that is not there any more is what finds that out:
its connection, its system that refuses another one, the failure detectors, and the launcher, which
is asked whether its program has ended where there is no connection: what is left for it then
nobody receives.

Who dials a rank that has gone is told so, instead of being let in.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from runtime.transitions import change


class LeaveStage(StrEnum):
    """How far a rank is with leaving one peer; GONE is final."""

    STAYING = "staying"
    """Something is still to be sent, or a connection that the peer may use is being opened."""
    SAYING = "saying goodbye"
    """Goodbye follows all that was sent; the peer has to get that far."""
    GONE = "gone"
    """Nothing has to be done for this peer any more."""


class LeaveEvent(StrEnum):
    """What leads from one stage to another."""

    SENT = "all was sent"
    UNCONNECTED = "all was sent, and no connection is used"
    HEARD = "it has all that was sent, and goodbye"
    LOST = "it has ended, or is lost"


_S, _E = LeaveStage, LeaveEvent
TRANSITIONS: dict[tuple[LeaveStage, LeaveEvent], LeaveStage] = {
    (_S.STAYING, _E.SENT): _S.SAYING,
    (_S.STAYING, _E.UNCONNECTED): _S.GONE,
    (_S.SAYING, _E.HEARD): _S.GONE,
    **{(one, _E.LOST): _S.GONE for one in (_S.STAYING, _S.SAYING)},
}
"""What each event leads to in each stage; a pair without a row changes nothing."""


class LinkUse(StrEnum):
    """What there is between this rank and a peer."""

    NONE = "no connection"
    OPENING = "a connection that the peer may use already is being opened, or about to rest"
    OPEN = "a connection, which may be interrupted"


class PeerView(NamedTuple):
    """What is known of a peer, as far as the leave depends on it."""

    is_lost: bool
    """Whether it has ended, or is lost."""
    has_sent: bool
    """Whether all messages to it are done."""
    has_heard: bool
    """Whether all that was said to it has come, or is kept by the system for it to read."""
    link: LinkUse


class LeaveTaking:
    """The leave from one peer, which messages name as `str(who)`."""

    def __init__(self, who: object) -> None:
        self._who = who
        self.stage = LeaveStage.STAYING

    @property
    def has_begun(self) -> bool:
        """Whether nothing more will be sent."""
        return self.stage is not LeaveStage.STAYING

    @property
    def is_over(self) -> bool:
        """Whether nobody has to wait for this peer."""
        return self.stage is LeaveStage.GONE

    def look(self, peer: PeerView) -> bool:
        """Go on as far as the peer allows; return whether goodbye has to be said to it now."""
        event = self._event(peer)
        if event is None:
            return False
        self.stage = change(TRANSITIONS, self.stage, event, self._who)
        return event is LeaveEvent.SENT

    def _event(self, peer: PeerView) -> LeaveEvent | None:
        if peer.is_lost:
            return LeaveEvent.LOST
        if self.stage is LeaveStage.SAYING:
            return LeaveEvent.HEARD if peer.has_heard else None
        if not peer.has_sent or peer.link is LinkUse.OPENING:
            return None
        return LeaveEvent.SENT if peer.link is LinkUse.OPEN else LeaveEvent.UNCONNECTED
