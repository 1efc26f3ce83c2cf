"""The batch system in the world of a run: it grants jobs, ends them, and knows what ran in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from gcm.records import dataclass
from runtime.rank_name import RankName
from runtime.testing.world.engine import World
from runtime.testing.world.run_launcher import RunLauncher
from runtime.testing.world.run_load import RunCluster
from runtime.testing.world.run_ranks import ScriptedRank
from runtime.testing.world.run_told import PlacePrepared
from runtime.testing.world.told import LAUNCHER

_STARTS = 0.2
"""Seconds from a grant until a front-end is started."""


class QueuedRun(Protocol):
    """The run whose clusters wait in queues."""

    world: World
    launcher: RunLauncher
    clusters: dict[str, RunCluster]
    opening: set[str]
    """The places that wait in a queue, or whose front-ends are being started."""

    def begin(self, name: str, job: int) -> None:
        """Let the front-end of a cluster begin, unless that was given up."""

    def is_up(self, cluster: str) -> bool:
        """Tell whether the front-end of a cluster lives."""

    def living(self, cluster: str) -> Sequence[ScriptedRank]:
        """Return the processes of ranks of a cluster that have not ended."""

    def kill_front_end(self, cluster: str, words: str) -> None:
        """End a front-end with all below it, or give up that it is started."""


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that a batch system has ended while the run went on: which one, and what ran in it."""

    cluster: str
    job: int
    at: float
    ran: bool


@dataclass(frozen=True, slots=True)
class JobFindings:
    """What is known of the jobs of a run at its end."""

    outlived: Sequence[str]
    """The clusters whose jobs were ended by their walltimes while ranks ran there."""
    ended: Sequence[EndedJob]
    limits: Mapping[str, float]
    """When the job of a process of a rank ends at the latest, where that is limited."""


class WorldQueue:
    """The jobs of all clusters that are behind a queue; each has a number in its cluster."""

    def __init__(self, made: QueuedRun) -> None:
        self._made = made
        self.last: dict[str, int] = {}
        """Which job of a cluster is the last one that was asked for."""
        self.up: dict[str, int] = {}
        """In which job the front-end of a cluster was started last."""
        self.job_of: dict[str, int] = {}
        """In which job of its cluster a process of a rank runs."""
        self._granted: dict[tuple[str, int], float] = {}
        self._outlived: list[str] = []
        self._ended: list[EndedJob] = []

    def asked(self, cluster: str, job: int) -> None:
        """Take note that a job was asked for."""
        self.last[cluster] = job

    def grant(self, cluster: str, job: int) -> None:
        """Grant the nodes of a cluster, unless they are not wanted any more."""
        made = self._made
        if cluster not in made.opening or self.last[cluster] != job:
            return
        now, walltime = made.world.now, made.clusters[cluster].walltime
        self._granted[cluster, job] = now
        made.world.tell(LAUNCHER, PlacePrepared(cluster, "granted", walltime))
        made.world.at(now + _STARTS, partial(made.begin, cluster, job))
        if walltime is not None:
            made.world.at(now + walltime, partial(self._outlive, cluster, job))

    def cancel(self, cluster: str) -> None:
        """End the job of a cluster."""
        made = self._made
        if made.is_up(cluster) and made.launcher.is_running:
            runs = any(one.began_at is not None for one in made.living(cluster))
            self._ended.append(EndedJob(cluster, self.last[cluster], made.world.now, runs))
        self._end(cluster, "it was cancelled")

    def _outlive(self, cluster: str, job: int) -> None:
        """End a job whose walltime is over, unless another one has followed it."""
        made = self._made
        if self.last[cluster] != job:
            return
        if made.launcher.is_running and made.living(cluster):
            self._outlived.append(cluster)
        self._end(cluster, "its walltime is over")

    def _end(self, cluster: str, why: str) -> None:
        """End a job with all that it runs."""
        made = self._made
        if cluster in made.opening:
            made.opening.remove(cluster)
            made.world.tell(LAUNCHER, PlacePrepared(cluster, f"the job was ended: {why}"))
        else:
            made.kill_front_end(cluster, why)

    def findings(self) -> JobFindings:
        """Return what there is to be audited."""
        limits = {}
        for member, job in self.job_of.items():
            cluster = RankName.parse(member).cluster
            walltime = self._made.clusters[cluster].walltime
            if walltime is not None:
                limits[member] = self._granted[cluster, job] + walltime
        return JobFindings(tuple(self._outlived), tuple(self._ended), limits)


__all__ = ["EndedJob", "JobFindings", "WorldQueue"]
