"""The times of a run, and when its jobs have to end: pure, with the time handed in."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import field

from gcm.records import dataclass
from runtime.lifecycle.events import LimitTime, Signal, Walltime

USUAL_RESERVE = 60.0
"""Seconds that are kept for the end of a run, of a walltime that is long enough."""

USUAL_SIGNAL = 120.0
"""Seconds before the end of a walltime that is long enough at which ranks are to save."""


@dataclass(frozen=True, slots=True)
class RunTimeouts:
    """The timeouts of a run, in seconds."""

    start: float = 120.0
    """From the beginning until the application runs."""
    others: float = 1.0
    """For other clusters to fail at the start, too, once one has: all are told together."""
    settle: float = 5.0
    """For the other clusters, once the ranks of one have ended badly."""
    grace: float = 6.0
    """For everything to end in order once asked."""
    output: float = 60.0
    """For a front-end that has only output left to tell so again."""
    run: float = 0.0
    """For the application; 0 means for ever."""
    explain: float = 6.0
    """For ranks to say what they are doing when that time is over."""
    glance: float = 1.0
    """For ranks to say what they wait for when somebody presses Ctrl-C."""


@dataclass(slots=True)
class RunClock:
    """The time, and the `deadline` of what a run waits for just now; None to wait for ever."""

    now: float = 0.0
    deadline: float | None = None

    def allow(self, seconds: float) -> None:
        """Wait for so long from now on."""
        self.deadline = self.now + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time has come."""
        return self.deadline is not None and self.now >= self.deadline


@dataclass(slots=True)
class Walltimes:
    """The walltimes of those `clusters` of a run that are behind a queue."""

    clock: RunClock
    clusters: Collection[str]
    _known: dict[str, tuple[float, Walltime]] = field(default_factory=dict)
    _signalled: set[str] = field(default_factory=set)
    _outlived: set[str] = field(default_factory=set)
    """The clusters whose jobs end without the run, since another one is asked for then."""

    def grant(self, cluster: str, walltime: Walltime, *, is_outlived: bool = False) -> None:
        """Count the time of a cluster from now on; its job ends the run unless that outlives it."""
        self._known[cluster] = self.clock.now + walltime.left, walltime
        if is_outlived:
            self._outlived.add(cluster)

    def forget(self, cluster: str) -> Iterator[LimitTime]:
        """Let the job of a cluster end when it does: the run goes on without it.

        Its own ranks, which may still run, are not told anything else.
        """
        self._signalled.discard(cluster)
        self._outlived.discard(cluster)
        if self._known.pop(cluster, None) is not None:
            yield from (self._limit(one) for one in self.clusters if one != cluster)

    def left(self, cluster: str, now: float) -> float | None:
        """Return how many seconds the job of a cluster has left; None without a limit."""
        known = self._known.get(cluster)
        return None if known is None else max(0.0, known[0] - now)

    def limit(self) -> Iterator[LimitTime]:
        """Let ranks know of the jobs that limit them, if any do."""
        if self._known:
            yield from map(self._limit, self.clusters)

    @property
    def due(self) -> float | None:
        """When there is something to be done next; None for never."""
        times = [self._end_of(one) for one in self._known]
        return min((*times, *(at for _, at in self._signals())), default=None)

    def take_signals(self) -> list[Signal]:
        """Return the signals that are sent now; each only once."""
        due = [cluster for cluster, at in self._signals() if at <= self.clock.now]
        self._signalled.update(due)
        return [Signal(cluster, self._known[cluster][1].signal) for cluster in due]

    def over(self) -> str | None:
        """Return a cluster whose job is so near its end that its ranks have to end; else None."""
        return next((one for one in self._known if self._end_of(one) <= self.clock.now), None)

    def _limit(self, cluster: str) -> LimitTime:
        """Return the times of whichever job ends first, and of whichever saves its state first.

        Only its own job, and those with which the run ends, count for a cluster.
        """
        now, known = self.clock.now, self._known
        jobs = [one for one in known if one == cluster or one not in self._outlived]
        ends = min(map(self._end_of, jobs), default=math.inf)
        saves = min(map(self._signal_of, jobs), default=math.inf)
        return LimitTime(cluster, ends - now, saves - now)

    def _end_of(self, cluster: str) -> float:
        end, walltime = self._known[cluster]
        return end - _reserve(walltime)

    def _signal_of(self, cluster: str) -> float:
        end, walltime = self._known[cluster]
        return end - _signal_before(walltime)

    def _signals(self) -> Iterator[tuple[str, float]]:
        for cluster, (_, walltime) in self._known.items():
            if walltime.signal and cluster not in self._signalled:
                yield cluster, self._signal_of(cluster)


def _reserve(walltime: Walltime) -> float:
    return min(USUAL_RESERVE, walltime.left / 4) if walltime.reserve is None else walltime.reserve


def _signal_before(walltime: Walltime) -> float:
    """Return how long before the end of a job its ranks save; by default before the run is ended.

    >>> [_signal_before(Walltime(left)) for left in (60, 240, 9000)]
    [30.0, 120.0, 120.0]
    """
    if walltime.signal_before is not None:
        return walltime.signal_before
    reserve = _reserve(walltime)
    to_save = max(USUAL_SIGNAL - reserve, USUAL_RESERVE)
    return reserve + min(to_save, (walltime.left - reserve) / 3)
