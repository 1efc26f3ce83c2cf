"""When to try again after a connection broke, and when no more. A machine without clock."""

from __future__ import annotations

import errno
import os

from runtime.wire.errors import PeerLost, said

CALLED_TIMEOUT = 5.0
"""Seconds for a peer that hung up and cannot be dialled: it comes at once, or has ended."""

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_HERE = "unix:"  # how the reasons of a refusal begin that this machine itself gives
_REFUSALS = 2  # after which nobody is there any more
_NOBODY = (os.strerror(errno.ECONNREFUSED), os.strerror(errno.ENOENT))


class Resuming:
    """One interruption: `why` the connection broke, and `last`, why it is not resumed yet.

    That nobody is there any more is taken from the host of the peer, unless others tell of ends:
    then a firewall says so.
    """

    __slots__ = ("_are_ends_told", "_begun", "_pause", "_refusals", "_timeout", "deadline", "last",
                 "next_try", "why")  # fmt: skip

    def __init__(
        self, why: Exception, now: float, timeout: float, *, are_ends_told: bool = False
    ) -> None:
        self._are_ends_told = are_ends_told
        self.why = why
        self.last: Exception | None = None
        self.next_try = now
        self.deadline = now + timeout
        self._timeout = timeout
        self._begun = now
        self._pause = _FIRST_PAUSE
        self._refusals = 0

    def failed(self, why: Exception, now: float) -> None:
        """Record that one more try was in vain, and wait longer for the next one."""
        self.last = why
        self.next_try = min(self.deadline, now + self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        if isinstance(why, PeerLost) and says_nobody(why):
            self._refusals += 1

    def called(self) -> None:
        """Record that the peer was asked to dial, so that nobody can refuse."""
        if isinstance(self.why, EOFError) and not self._are_ends_told:
            self.deadline = min(self.deadline, self._begun + CALLED_TIMEOUT)

    def taken(self, at: float) -> None:
        """Record when the peer's system last had a connection: it can be reached, and lives.

        A process that is stopped, or busy in one long call, is waited for as long as that is so.
        """
        self.deadline = max(self.deadline, at + self._timeout)

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
        is_here = isinstance(last, PeerLost) and last.cause.startswith(_HERE)
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
        return f"it could not be resumed: {told or said(self.last)}"


def says_nobody(fault: PeerLost) -> bool:
    """Tell whether the host of a peer says that nobody listens any more, at all its addresses.

    Where several routes were tried the first one counts: it is the one that worked last.
    """
    reasons = fault.cause.splitlines()
    if reasons and reasons[0].startswith("by "):
        reasons = reasons[0].split("; ")
    return bool(reasons) and all(any(one in line for one in _NOBODY) for line in reasons)
