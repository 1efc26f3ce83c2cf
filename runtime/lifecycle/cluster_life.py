"""The life of a cluster within a run: its place, the job that runs there, and its results.

The place is the front-end, which outlives the job (the native MPI of the cluster with its ranks);
results come home once it has gone. So a cluster has a stage of each, with a table.
"""

from __future__ import annotations

from enum import StrEnum

from gcm.records import dataclass
from runtime.lifecycle.rank_life import RankLife
from runtime.transitions import change


class PlaceStage(StrEnum):
    """Where the front-end of a cluster is; the last two are ends."""

    ABSENT = "absent"
    QUEUED = "queued"
    """Its nodes are asked for, and a batch system has them queued."""
    OPEN = "open"
    """It was started, and may be up."""
    CONDEMNED = "condemned"
    """It lives and is to end: other clusters cannot reach this one."""
    CLOSED = "closed"
    """It has ended, as asked."""
    LOST = "lost"
    """It has gone without being asked, and with it what its ranks have made; another may come."""


class PlaceEvent(StrEnum):
    """What happens to a front-end."""

    OPENED = "it is started"
    QUEUED = "its job is queued"
    GRANTED = "its job has nodes"
    CONDEMNED = "others cannot reach it"
    CLOSED = "it has ended"
    LOST = "it has gone"


class JobStage(StrEnum):
    """Where the job of a cluster is."""

    IDLE = "idle"
    """Its ranks were not started, or may not run yet."""
    RUNNING = "running"
    DRAINING = "draining"
    """Nothing of it runs any more, but output is left that nobody has taken."""
    ENDED = "ended"
    UNREAD = "unread"
    """It has ended, and some of its output is left."""


class JobEvent(StrEnum):
    """What happens to a job."""

    STARTED = "its ranks run"
    OUTPUT_LEFT = "only output is left"
    OUTPUT_TAKEN = "its output was taken, or is lost"
    ENDED = "it has ended"


class ResultsStage(StrEnum):
    """Where the results of a cluster are."""

    THERE = "there"
    MOVING = "moving"
    """They come home, or are discarded."""
    SETTLED = "settled"
    """They are home, or will never be."""


class ResultsEvent(StrEnum):
    """What happens to results."""

    CALLED = "they are called for or discarded"
    SETTLED = "that is done, or has failed"


_P, _J, _R = PlaceStage, JobStage, ResultsStage
PLACE: dict[tuple[PlaceStage, PlaceEvent], PlaceStage] = {
    **{(one, PlaceEvent.OPENED): _P.OPEN for one in (_P.ABSENT, _P.LOST)},
    **{(one, PlaceEvent.QUEUED): _P.QUEUED for one in (_P.OPEN, _P.QUEUED)},
    **{(one, PlaceEvent.GRANTED): _P.OPEN for one in (_P.OPEN, _P.QUEUED)},
    (_P.OPEN, PlaceEvent.CONDEMNED): _P.CONDEMNED,
    **{(one, PlaceEvent.CLOSED): _P.CLOSED for one in (_P.QUEUED, _P.OPEN, _P.CONDEMNED)},
    **{(one, PlaceEvent.LOST): _P.LOST for one in _P if one is not _P.LOST},
}
JOB: dict[tuple[JobStage, JobEvent], JobStage] = {
    **{(one, JobEvent.STARTED): _J.RUNNING for one in _J},
    (_J.RUNNING, JobEvent.OUTPUT_LEFT): _J.DRAINING,
    **{(one, JobEvent.OUTPUT_LEFT): _J.UNREAD for one in (_J.IDLE, _J.ENDED)},
    **{(one, JobEvent.OUTPUT_TAKEN): _J.ENDED for one in (_J.DRAINING, _J.UNREAD)},
    **{(one, JobEvent.ENDED): _J.ENDED for one in (_J.RUNNING, _J.DRAINING, _J.UNREAD)},
}
RESULTS: dict[tuple[ResultsStage, ResultsEvent], ResultsStage] = {
    (_R.THERE, ResultsEvent.CALLED): _R.MOVING,
    (_R.MOVING, ResultsEvent.SETTLED): _R.SETTLED,
}


@dataclass(slots=True)
class ClusterLife:
    """One cluster; where its ranks `go_on` without lost ones these may be started again."""

    identifier: str
    name: str
    """How messages name it."""
    ranks: tuple[RankLife, ...] = ()
    goes_on: bool = False
    place: PlaceStage = PlaceStage.ABSENT
    job: JobStage = JobStage.IDLE
    results: ResultsStage = ResultsStage.THERE

    @property
    def is_open(self) -> bool:
        """Whether its front-end may still be there."""
        return self.place in (PlaceStage.QUEUED, PlaceStage.OPEN, PlaceStage.CONDEMNED)

    @property
    def has_output(self) -> bool:
        """Whether nothing of it is awaited but output."""
        return self.job in (JobStage.DRAINING, JobStage.UNREAD)

    @property
    def runs(self) -> bool:
        """Whether its job has not ended."""
        return self.job in (JobStage.RUNNING, JobStage.DRAINING)

    @property
    def is_kept(self) -> bool:
        """Whether its job goes on only because a rank may be started in place of a lost one."""
        is_held = self.goes_on and any(one.was_lost for one in self.ranks)
        return is_held and all(one.is_over for one in self.ranks)

    @property
    def living(self) -> int:
        """How many of its ranks live, as far as the others were told."""
        return sum(one.announced is None for one in self.ranks)

    def advance_place(self, event: PlaceEvent, why: str = "") -> None:
        """Let something happen to its front-end."""
        self.place = change(PLACE, self.place, event, f"{self.name}: front-end", why)

    def advance_job(self, event: JobEvent, why: str = "") -> None:
        """Let something happen to its job."""
        self.job = change(JOB, self.job, event, f"{self.name}: job", why)

    def advance_results(self, event: ResultsEvent, why: str = "") -> bool:
        """Let something happen to its results; return whether that changes their stage."""
        before = self.results
        self.results = change(RESULTS, before, event, f"{self.name}: results", why)
        return self.results is not before
