"""How long to try to reach results again: as long as some of them come now and then."""

from __future__ import annotations

from dataclasses import field

from gcm.records import dataclass
from runtime.launchers.errors import FetchFailed, LauncherClosed, LaunchError
from runtime.launchers.fetching import Stalled

RECONNECT_TIMEOUT = 30.0
"""How many seconds to try to reach a host again to which the way broke."""

MOST_STALLS = 3
"""How often nothing may come at all until the time for it is over, one after the other."""


@dataclass(slots=True)
class Retries:
    """What has come until when, in seconds; a stall has taken its time, and that does not count."""

    since: float
    size: int = 0
    _stalls: int = field(default=0)

    def is_over(self, fault: LaunchError, size: int, now: float) -> bool:
        """Tell whether a fault is the last one; `size` are the bytes that have come."""
        if size > self.size:
            self.since, self.size, self._stalls = now, size, 0
        if isinstance(fault, Stalled):
            self.since, self._stalls = now, self._stalls + 1
            return self._stalls >= MOST_STALLS
        if isinstance(fault, FetchFailed | LauncherClosed):
            return True
        return now > self.since + RECONNECT_TIMEOUT
