"""The life of the connection to a peer: whether there is one, and when to try again and when not.

```
             joined          the peer has dialled once more       joined, or failed: taken back
  NEVER ───────────► OPEN ──────────────────────────────► DOUBTED ─────────────────────────► OPEN
                      │ ▲
  this end asks ┌─────┤ │ joined
     to rest    ▼     │ └──────────────┐
              ASKED   │ broke          │
     agreed │   │ the │                │
            ▼   ▼ peer▼ stays (OPEN)   │
          RESTED    BROKEN ────────────┘
```

A connection between hosts that breaks is resumed: what was sent and received stays, and both ends
dial until one of them gets through, or until they give up. One between processes of one machine
breaks only when the peer has ended.

One with which nothing is wrong can be closed in agreement, until somebody sends again. The asker
says REST and then nothing. The other end says REST_TOO and then nothing, if it has nothing to say
either, and STAY otherwise. When both have asked, that is agreed. The other one waits until the
asker hangs up, so everything that was said is read.

Machines without input, output or clock.
"""

from __future__ import annotations

import errno
import os
from enum import StrEnum

from runtime.transitions import change
from runtime.wire.errors import PeerLost, reason_of

CALLED_TIMEOUT = 5.0
"""Seconds for a peer that hung up and cannot be dialled: it comes at once, or has ended."""

_BRIEF = 2.0  # seconds; a connection that breaks so soon and has moved nothing is as good as none
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_HERE = "unix:"  # how the reasons of a refusal begin that this machine itself gives
_REFUSALS = 2  # after which nobody is there any more
_NOBODY = (os.strerror(errno.ECONNREFUSED), os.strerror(errno.ENOENT))


class ConnectionStage(StrEnum):
    """Whether there is a connection; in all stages but OPEN another one may be on its way."""

    NEVER = "never open"
    OPEN = "open"
    DOUBTED = "doubted"
    """The peer has dialled once more; whether this one goes on is known when it says so."""
    ASKED = "asked to rest"
    """This end has asked to close it, and writes nothing more."""
    LEAVING = "about to rest"
    """The peer has asked, this end has agreed, and waits until the peer hangs up."""
    RESTED = "at rest"
    """It was closed in agreement; the next message opens another one."""
    BROKEN = "broken"
    """It broke, and is being resumed."""
    UNREACHED = "unreached"
    """None could be opened so far, and it is tried on."""
    CLOSED = "closed"
    """It was given up."""


class ConnectionEvent(StrEnum):
    """What happens to a connection."""

    JOINED = "both ends use it"
    FAILED = "none could be opened"
    DIALLED = "the peer has dialled once more"
    BROKE = "it broke"
    ASKS = "nobody uses it here"
    AGREES = "nobody uses it at either end"
    STAYS = "the peer uses it"
    RESTED = "both have agreed"
    GIVEN_UP = "it is given up"


_S, _E = ConnectionStage, ConnectionEvent
TRYING = frozenset({_S.BROKEN, _S.UNREACHED})
"""Where a connection is tried to be opened, again and again."""

RESTING = frozenset({_S.ASKED, _S.LEAVING})
"""Where nothing new is written to a connection that is still there."""

INTERRUPTED = TRYING | {_S.DOUBTED}
"""Where it is not known yet whether what is half said goes on."""

TRANSITIONS: dict[tuple[ConnectionStage, ConnectionEvent], ConnectionStage] = {
    **{(one, _E.JOINED): _S.OPEN for one in _S},
    **{(one, _E.FAILED): _S.UNREACHED for one in (_S.NEVER, _S.RESTED)},
    (_S.CLOSED, _E.FAILED): _S.BROKEN,
    (_S.DOUBTED, _E.FAILED): _S.OPEN,
    (_S.OPEN, _E.DIALLED): _S.DOUBTED,
    (_S.OPEN, _E.BROKE): _S.BROKEN,
    (_S.OPEN, _E.ASKS): _S.ASKED,
    (_S.OPEN, _E.AGREES): _S.LEAVING,
    **{(one, _E.STAYS): _S.OPEN for one in RESTING},
    **{(one, _E.RESTED): _S.RESTED for one in RESTING},
    **{(one, _E.GIVEN_UP): _S.CLOSED for one in _S},
}
"""What each event leads to in each stage; a pair without a row changes nothing."""


class ConnectionLife:
    """The connections to one peer, one after the other; messages name the peer as `str(who)`."""

    def __init__(self, who: object) -> None:
        self._who = who
        self.stage = ConnectionStage.NEVER
        self.resuming: Resuming | None = None
        """The interruption, while one is tried to be opened."""
        self.joins = 0
        """How many connections were used."""
        self.resumptions = 0
        """How many of these took the place of one that broke."""
        self._ended_well: Resuming | None = None  # the last interruption
        self._progress = (0, 0)
        self._opened_at = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether both ends are about to leave the connection."""
        return self.stage in RESTING

    @property
    def is_interrupted(self) -> bool:
        """Whether it is not known yet whether what is half said goes on."""
        return self.stage in INTERRUPTED

    @property
    def was_ever_there(self) -> bool:
        """Whether the peer has gone while it was connected; one at rest may go unnoticed."""
        return self.joins > 0 and self.stage not in (
            ConnectionStage.RESTED,
            ConnectionStage.UNREACHED,
        )

    def advance(self, event: ConnectionEvent, why: str = "") -> bool:
        """Let something happen to it; return whether that has changed anything."""
        before = self.stage
        self.stage = change(TRANSITIONS, before, event, self._who, why)
        return self.stage is not before

    def joined(self, now: float, progress: tuple[int, int]) -> None:
        """Record a connection that both ends use; `progress` is how much came, and went."""
        self.joins += 1
        self.resumptions += self.is_interrupted
        self._ended_well, self.resuming = self.resuming, None
        self._progress, self._opened_at = progress, now
        self.advance(ConnectionEvent.JOINED)

    def broke(self, progress: tuple[int, int], again: Resuming) -> None:
        """Record that it broke, and is to be resumed: as the interruption `again`.

        Where it has been there for a moment only, and was of no use, the last one goes on.
        """
        last, fault, now = self._ended_well, again.why, again.next_try
        self._ended_well = None
        if last and now < self._opened_at + _BRIEF and self._progress == progress:
            last.failed(fault, now)
            again = last
        self.resuming = again
        self.advance(ConnectionEvent.BROKE, reason_of(fault))

    def failed(self, again: Resuming) -> None:
        """Record that none could be opened, and that it is tried on as the interruption `again`."""
        self.resuming = again
        again.failed(again.why, again.next_try)
        self.advance(ConnectionEvent.FAILED, reason_of(again.why))

    def give_up(self) -> None:
        """Record that it is of no use any more, and not resumed."""
        self.resuming = None
        self.advance(ConnectionEvent.GIVEN_UP)


class Resuming:
    """One interruption: `why` the connection broke, and `last`, why it is not resumed yet.

    It is tried for `timeout` seconds where nobody answers, with `patience` where a host does.
    That nobody is there any more is taken from the host of the peer, unless others tell of ends:
    then a firewall says so.
    """

    def __init__(
        self,
        why: Exception,
        now: float,
        timeout: float,
        *,
        patience: float = 0.0,
        are_ends_told: bool = False,
    ) -> None:
        self._are_ends_told = are_ends_told
        self.why = why
        self.last: Exception | None = None
        self.next_try = now
        self.deadline = now + timeout
        self._timeout = timeout
        self._patience = max(timeout, patience)
        self._begun = now
        self._pause = _FIRST_PAUSE
        self._refusals = 0

    def failed(self, why: Exception, now: float) -> None:
        """Record that one more try was in vain, and wait longer for the next one."""
        self.last = why
        self.next_try = min(self.deadline, now + self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        if isinstance(why, PeerLost) and is_refused_everywhere(why):
            self._refusals += 1
            self.deadline = max(self.deadline, self._begun + self._patience)

    def called(self) -> None:
        """Record that the peer was asked to dial, so that nobody can refuse."""
        if isinstance(self.why, EOFError) and not self._are_ends_told:
            self.deadline = min(self.deadline, self._begun + CALLED_TIMEOUT)

    def taken(self, at: float) -> None:
        """Record when the peer's system last had a connection: it can be reached, and lives.

        A process that is stopped, or busy in one long call, is waited for as long as that is so.
        """
        self.deadline = max(self.deadline, at + self._patience)

    def postpone(self, seconds: float) -> None:
        """Do not count seconds in which this process could not try."""
        self.deadline += seconds

    @property
    def is_refused(self) -> bool:
        """Whether nobody is there any more."""
        return self._refusals >= _REFUSALS and not self._are_ends_told

    @property
    def is_ended(self) -> bool:
        """Whether the process has ended: no firewall refuses connections to a Unix socket."""
        last = self.last
        is_here = isinstance(last, PeerLost) and _is_of_this_machine(last.cause)
        return self._refusals >= _REFUSALS and is_here

    def try_on(self, now: float) -> None:
        """Try for as long again."""
        self.deadline = now + self._timeout

    def lasts(self, now: float) -> float:
        """Return for how many seconds it was tried."""
        return now - self._begun

    def is_over(self, now: float) -> bool:
        """Tell whether to give up: nobody is there any more, or the time is over."""
        return self.is_refused or now >= self.deadline

    @property
    def reasons(self) -> str:
        """Why it could not be resumed."""
        if self.last is None:
            return "it could not be resumed"
        told = self.last.cause if isinstance(self.last, PeerLost) else ""
        return f"it could not be resumed: {told or reason_of(self.last)}"


def is_refused_everywhere(fault: PeerLost) -> bool:
    """Tell whether the host of a peer says that nobody listens any more, at all its addresses.

    Where several routes were tried the first one counts: it is the one that worked last.
    """
    reasons = fault.cause.splitlines()
    if reasons and reasons[0].startswith("by "):
        reasons = reasons[0].split("; ")
    return bool(reasons) and all(any(one in line for one in _NOBODY) for line in reasons)


def _is_of_this_machine(cause: str) -> bool:
    """Tell whether it was this machine that refused first, by whichever route.

    >>> _is_of_this_machine("by 0:0:1 -> 2:0:0: unix:/a: Connection refused; b:1: No route to host")
    True
    """
    first = cause.partition("\n")[0].partition("; ")[0]
    return first.startswith(_HERE) or (first.startswith("by ") and f": {_HERE}" in first)
