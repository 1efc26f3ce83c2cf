"""The parameters of a detector, and how they are chosen to keep to a time."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.errors import GridError
from runtime.health.protocols import DEFAULT_DETECTOR, DetectorProtocol

PERIOD = 0.5
"""T_gossip where nothing else is asked for, in seconds."""

_SHARE = 0.75  # of the whole time may be T_cleanup, so that a ping has time to be answered


class UnfitDetector(GridError):
    """The parameters of a detector contradict each other."""


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """How a detector watches; times in seconds.

    `period` is T_gossip. A member that is silent for T_cleanup, which follows from the protocol, is
    suspected and pinged, and declared dead `max_hang` (T_max_hang) later. A member that was never
    heard of may take `start` longer. `most_distrust` bounds how many times longer an overloaded
    watcher waits.
    """

    protocol: DetectorProtocol = DEFAULT_DETECTOR
    period: float = PERIOD
    max_hang: float = 5.0
    start: float = 0.0
    most_distrust: int = 8

    @property
    def ping_timeout(self) -> float:
        """How long a ping may be unanswered: one round at least."""
        return max(self.max_hang, self.period)

    def cleanup(self, members: int) -> float:
        """Return T_cleanup."""
        return self.period * self.protocol.row.cleanup_rounds(members)


@dataclass(frozen=True, slots=True)
class LineTimes:
    """How a cut line between two clusters is found out, in seconds, one after the other.

    A connection is of no use after so much `silence` of the other host, and is then tried to be
    `resumed`, by whatever route. Then it is `settled` whether one of the two clusters is lost.
    """

    silence: float
    resumed: float
    settled: float

    @classmethod
    def within(cls, timeout: float) -> LineTimes:
        """Return those that together are a second longer than the time for lost front-ends.

        >>> LineTimes.within(3.0)
        LineTimes(silence=2.0, resumed=1.0, settled=1.0)
        """
        return cls(max(1.0, timeout * 2 / 3), max(1.0, timeout / 3), 1.0)


def fitted(
    protocol: DetectorProtocol, members: int, timeout: float, period: float | None = None
) -> DetectorSettings:
    """Return settings with which a dead member is declared within `timeout`.

    T_cleanup is three quarters of that at most. Without a `period` it is half a second, or shorter
    where many members watch each other.

    >>> found = fitted(DetectorProtocol.DBRR, 16, timeout=3.0)
    >>> found.period, found.max_hang
    (0.1875, 0.75)

    Raises:
        UnfitDetector: the period is too long for the timeout.
    """
    rounds = max(1, protocol.row.cleanup_rounds(members))
    longest = _SHARE * timeout / rounds
    if period is not None and period > longest:
        raise UnfitDetector(
            f"{protocol} with {members} members suspects after {rounds} periods of {period:g} s, "
            f"which leaves no time for a ping within the timeout of {timeout:g} s",
            cure=f"Set the period to {_down(longest):g} s or less, or the timeout to "
            f"{rounds * period / _SHARE:g} s or more",
        )
    chosen = min(PERIOD, longest) if period is None else period
    return DetectorSettings(protocol, chosen, timeout - rounds * chosen)


def _down(seconds: float) -> float:
    return int(seconds * 1000) / 1000
