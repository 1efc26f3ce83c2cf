"""How long to retry fetching results: as long as some progress is made."""

from __future__ import annotations

from dataclasses import field

from gcm.records import dataclass
from runtime.launchers.errors import FetchFailed, LauncherClosed, LaunchError
from runtime.launchers.fetching import Stalled

RECONNECT_TIMEOUT = 30.0
"""Seconds for which to try to reconnect to a host."""

MOST_STALLS = 3
"""How many attempts in a row may make no progress before retrying ends."""


@dataclass(slots=True)
class Retries:
    """What has come until when, in seconds; a stall has taken its time, and that does not count."""

    since: float
    size: int = 0
    _stalls: int = field(default=0)

    def is_over(self, fault: LaunchError, size: int, now: float) -> bool:
        """Return whether a fault is the last one; `size` are the bytes that have come."""
        if size > self.size:
            self.since, self.size, self._stalls = now, size, 0
        if isinstance(fault, Stalled):
            self.since, self._stalls = now, self._stalls + 1
            return self._stalls >= MOST_STALLS
        if isinstance(fault, FetchFailed | LauncherClosed):
            return True
        return now > self.since + RECONNECT_TIMEOUT
