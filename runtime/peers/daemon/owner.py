"""The owner of a desktop comes first: the share is smaller while somebody works there.

`share_for` decides, from what was measured; the rest measures. Nothing is measured where the
configuration does not ask for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from runtime.launchers import family
from runtime.peers.configuration.reading import PeerConfiguration
from runtime.peers.model import Share

TERMINALS = ("/dev/tty[0-9]*", "/dev/pts/[0-9]*")


def share_for(
    lent: Share,
    reduced: Share,
    thresholds: tuple[float, float],
    measured: tuple[float, float],
) -> tuple[Share, str]:
    """Return the share, and why; thresholds and measures are a load and the idle seconds, 0 is off.

    >>> share_for(Share(2, 4), Share(0, 0), (0.5, 0), (0.7, 9e9))
    (Share(applications=0, processes=0), 'its owner comes first: the load is 0.7')
    >>> share_for(Share(2, 4), Share(0, 0), (0.5, 60), (0.4, 61))
    (Share(applications=2, processes=4), '')
    """
    most_load, least_idle = thresholds
    load, idle = measured
    if most_load and load >= most_load:
        return reduced, f"its owner comes first: the load is {load:.1f}"
    if least_idle and idle < least_idle:
        return reduced, f"its owner comes first: somebody was there {idle:.0f} s ago"
    return lent, ""


class OwnersWork:
    """Measures what the owner does, and says what the share is."""

    def __init__(
        self,
        configuration: PeerConfiguration,
        terminals: Sequence[str] = TERMINALS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._terminals = terminals
        self._now = now
        self._lent = configuration.share
        self._reduced = configuration.owner_share
        self._load = configuration.seconds("owner_load")
        self._idle = configuration.seconds("owner_idle")
        self.reason = ""
        """Why the share is smaller now."""

    def share(self) -> Share:
        """Return the share as it is now."""
        if not (self._load or self._idle):
            return self._lent
        measured = (
            max(0.0, os.getloadavg()[0] - running_below(os.getpid())) if self._load else 0.0,
            idle_seconds(self._now(), self._terminals) if self._idle else 0.0,
        )
        share, self.reason = share_for(
            self._lent, self._reduced, (self._load, self._idle), measured
        )
        return share


def running_below(process: int) -> int:
    """Return how many threads below a process run: they are the lab's part of the load."""
    return sum(
        _running(Path(f"/proc/{pid}/task"))
        for pid in family.descendants({process}, family.processes())
    )


def _running(tasks: Path) -> int:
    count = 0
    try:
        for task in tasks.iterdir():
            state = (task / "stat").read_bytes().rpartition(b")")[2].split()[0]
            count += state in (b"R", b"D")
    except OSError:
        return count  # it ended meanwhile
    return count


def idle_seconds(now: float, patterns: Iterable[str]) -> float:
    """Return for how long nobody has typed at a terminal."""
    latest = 0.0
    for pattern in patterns:
        for device in Path("/").glob(pattern.lstrip("/")):
            try:
                latest = max(latest, device.stat().st_atime)
            except OSError:
                continue
    return max(0.0, now - latest)
