"""What is asked of a batch system, and what it says of a job."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from gcm.records import dataclass
from runtime.shown_text import shown

USUAL_IDLE = 1800.0
"""Seconds for which granted nodes wait for those of other clusters, in a long walltime."""

_LONGEST = 200
"""Letters of what a batch system says of a job, in a message."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """The nodes that a cluster needs, in words that all batch systems understand.

    `walltime` is in seconds, and counts for the whole job. `lease` is for how many seconds the job
    holds its nodes when nothing is heard of the run any more. `options` are words for the system's
    own command as they are written by hand, for what has no name here; they come last, so they win.
    Lines of the script in which a word of `leave_out` occurs are left out.
    The run ends `reserve` seconds before the job does, and its ranks get the `signal` with that
    name, if any, `signal_before` seconds before; None for what is usual. `job` is the number of one
    that runs already, instead of all this; it is left as it is. Nodes may be `idle` for so many
    seconds while other clusters of the run wait for theirs, None for what is usual. Another job is
    asked for `again` so many times when one has ended before its ranks have. `places` are those of
    each node of a job that runs, in place of `tasks_per_node` where they differ.
    """

    system: str
    nodes: int = 1
    tasks_per_node: int = 1
    walltime: float = 0.0
    queue: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    lease: float = 60.0
    signal: str = ""
    signal_before: float | None = None
    reserve: float | None = None
    options: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    job: str = ""
    idle: float | None = None
    again: int = 0
    places: tuple[int, ...] = ()

    @property
    def slots(self) -> tuple[int, ...]:
        """For how many ranks each node has place, the first one first.

        >>> JobRequest("slurm", 2, 8).slots, running_job("slurm", "17", (3, 1)).slots
        ((8, 8), (3, 1))
        """
        return self.places or (self.tasks_per_node,) * self.nodes

    @property
    def longest_idle(self) -> float:
        """For how many seconds its nodes may wait for others; a walltime counts from the grant.

        >>> JobRequest("slurm").longest_idle, JobRequest("slurm", walltime=600).longest_idle
        (1800.0, 150.0)
        """
        if self.job:
            return math.inf
        if self.idle is not None:
            return self.idle
        return min(USUAL_IDLE, self.walltime / 4 or USUAL_IDLE)


def running_job(system: str, number: str, places: Sequence[int]) -> JobRequest:
    """Return a job that runs, with places for so many ranks on each of its nodes."""
    first = places[0]
    uneven = () if all(one == first for one in places) else tuple(places)
    return JobRequest(system, len(places), 1 if uneven else first, job=number, places=uneven)


def job_with_places(system: str, number: str | None, places: Sequence[str]) -> JobRequest | None:
    """Return the job of a process which is told its number, and the host of each of its places.

    >>> job = job_with_places("oar", "17", ["n1", "n1", "n1", "n2"])
    >>> assert job is not None
    >>> job.job, job.nodes, job.slots
    ('17', 2, (3, 1))
    """
    tasks = tuple(Counter(places).values())
    return running_job(system, number, tasks) if number and tasks else None


class JobPhase(StrEnum):
    """Where a job is, for everybody who waits for it."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDING = "ending"
    """Its nodes are being cleaned; why it has ended is told after that."""
    OVER = "over"


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A job as its batch system tells of it.

    `state` and `reason` are the system's own words, such as `PENDING` and `Priority`; `start` is
    when it expects to start the job, in ISO 8601 if it can be read. Of a job that runs, `nodes` is
    its list of them, `cores` how many it has, 0 if that is not told, and `left` the seconds until
    its walltime is over, None for no limit.
    """

    number: str
    phase: JobPhase
    state: str
    reason: str = ""
    start: str = ""
    nodes: str = ""
    cores: int = 0
    left: float | None = None

    def __str__(self) -> str:
        """Say it as people do.

        >>> print(BatchJob("17", JobPhase.QUEUED, "PENDING", "Priority", "2026-11-24T14:20:00"))
        job 17 is PENDING (Priority), start expected 2026-11-24 14:20
        """
        why = f" ({shown(self.reason, _LONGEST)})" if self.reason else ""
        known = self.start and self.phase is JobPhase.QUEUED
        when = f", start expected {self.start.replace('T', ' ')[:16]}" if known else ""
        return f"job {self.number} is {shown(self.state)}{why}{when}"


@dataclass(frozen=True, slots=True)
class GrantedJob:
    """The nodes that a job holds, the first one first, and for how many ranks each has place."""

    job: BatchJob
    hosts: tuple[str, ...]
    places: tuple[int, ...]
