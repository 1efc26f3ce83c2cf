"""When the jobs of a run have to end, and what is done before: pure, with the time handed in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field

from gcm.records import dataclass

USUAL_RESERVE = 60.0
"""Seconds that are kept for the end of a run, of a walltime that is long enough."""


@dataclass(frozen=True, slots=True)
class Walltime:
    """How many seconds a job has `left` when its nodes are granted.

    The run ends `reserve` seconds before the job, by default a minute or a quarter of a shorter
    time, so that results come home. Its ranks get `signal`, if it has a name, `signal_before`
    seconds before the end of the job.
    """

    left: float
    reserve: float | None = None
    signal: str = ""
    signal_before: float = 120.0


@dataclass(slots=True)
class Walltimes:
    """The walltimes of the clusters of a run that are behind a queue."""

    _known: dict[str, tuple[float, Walltime]] = field(default_factory=dict)
    _signalled: set[str] = field(default_factory=set)

    def grant(self, cluster: str, walltime: Walltime, now: float) -> None:
        """Count the time of a cluster from now on."""
        self._known[cluster] = now + walltime.left, walltime

    def forget(self, cluster: str) -> bool:
        """Let the job of a cluster end when it does; return whether there was a limit."""
        return self._known.pop(cluster, None) is not None

    def left(self, cluster: str, now: float) -> float | None:
        """Return how many seconds the job of a cluster has left; None without a limit."""
        known = self._known.get(cluster)
        return None if known is None else max(0.0, known[0] - now)

    @property
    def is_limited(self) -> bool:
        """Whether a job limits the run."""
        return bool(self._known)

    def limit(self, now: float) -> tuple[float, float]:
        """Return in how many seconds the run ends, and in how many its ranks save their state.

        Each is that of whichever job comes first; both are infinite without a limit.
        """
        ends = [self._end_of(one) for one in self._known]
        saves = [end - walltime.signal_before for end, walltime in self._known.values()]
        return min(ends, default=math.inf) - now, min(saves, default=math.inf) - now

    @property
    def due(self) -> float | None:
        """When there is something to be done next; None for never."""
        times = [self._end_of(one) for one in self._known]
        return min((*times, *(at for _, at in self._signals())), default=None)

    def take_signals(self, now: float) -> list[tuple[str, str]]:
        """Return the clusters whose ranks get a signal now, and its name; each only once."""
        due = [cluster for cluster, at in self._signals() if at <= now]
        self._signalled.update(due)
        return [(cluster, self._known[cluster][1].signal) for cluster in due]

    def over(self, now: float) -> str | None:
        """Return a cluster whose job is so near its end that the run has to end; else None."""
        return next((one for one in self._known if self._end_of(one) <= now), None)

    def _end_of(self, cluster: str) -> float:
        end, walltime = self._known[cluster]
        reserve = walltime.reserve
        return end - (min(USUAL_RESERVE, walltime.left / 4) if reserve is None else reserve)

    def _signals(self) -> Iterator[tuple[str, float]]:
        for cluster, (end, walltime) in self._known.items():
            if walltime.signal and cluster not in self._signalled:
                yield cluster, end - walltime.signal_before
