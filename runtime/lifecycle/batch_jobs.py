"""The clusters whose nodes a batch system grants: queued, late, or there for a limited time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from gcm.records import dataclass
from runtime.lifecycle import events
from runtime.lifecycle.cluster_life import PlaceEvent, PlaceStage, ResultsEvent
from runtime.lifecycle.events import Effect, Fill, LeaveOut, LetGo, LimitTime, Show
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.walltimes import Walltimes
from runtime.machine.deaths import RankDeath


@dataclass(slots=True)
class BatchJobs:
    """The batch jobs of a run, which may begin without clusters that are `late`."""

    run: RunParts
    queued: dict[str, str] = field(default_factory=dict)
    """What batch systems say of the jobs of clusters that wait in a queue."""
    late: set[str] = field(default_factory=set)
    """The clusters without which the run began, until their ranks are started."""
    walltimes: Walltimes = field(default_factory=Walltimes)
    lost_early: list[events.PlaceLost] = field(default_factory=list)
    """What became of late ones before the run began; the others are told once they run."""

    def wait_for(self, event: events.PlaceQueued) -> Iterable[Effect]:
        """Wait for as long as the queue takes: the user has asked for these nodes."""
        self.run.clusters[event.cluster].advance_place(PlaceEvent.QUEUED, event.words)
        if event.cluster not in self.late and self.run.outcome is None:
            self.run.clock.deadline = None
        yield self._show(event.cluster, event.words)

    def leave_out(self, cluster: str) -> Iterable[Effect]:
        """Wait no longer for a cluster, which comes late."""
        self.late.add(cluster)
        self._await_start()
        yield LeaveOut(cluster)
        yield self._show(cluster, self.queued.get(cluster, "in the queue"))

    def grant(self, event: events.PlaceGranted) -> Iterable[Effect]:
        """Let the front-end start on the nodes of a cluster, and count their time."""
        cluster, now = event.cluster, self.run.clock.now
        self.run.clusters[cluster].advance_place(PlaceEvent.GRANTED)
        self.queued.pop(cluster, None)
        if event.walltime is not None:
            self.walltimes.grant(cluster, event.walltime, now)
        if cluster not in self.late:
            self._await_start()
        left = self.walltimes.left(cluster, now)
        yield Show(self.run.plan.path_of(cluster), "starting", "front-end", left)

    def keep_places(self) -> Iterable[Effect]:
        """Count ranks that come later as lost: others will be started in their places."""
        for one in (rank for name in sorted(self.late) for rank in self.run.clusters[name].ranks):
            death = RankDeath.lost(one.rank, "has not come yet, its cluster waits in a queue")
            one.die(death, is_kept=False)
            yield Show(self.run.plan.rank_paths[one.rank], "queued")
            yield self.run.announce(death)

    def step_up(self, event: events.StepUp) -> Iterable[Effect]:
        """Start the ranks of a cluster that has come late, once its front-end can do that."""
        kind, _, cluster = event.step.partition(":")
        if cluster not in self.late:
            return
        state = "up" if kind == "front-end" else "starting"
        yield Show(self.run.plan.path_of(cluster), state, kind)
        if kind == "ranks":
            self.late.remove(cluster)
            yield from self.limit_time()
            yield Fill(cluster)

    def lose(self, event: events.PlaceLost) -> Iterable[Effect]:
        """Take no note any more of the job of a cluster; one that is late never comes."""
        cluster, is_late = self.run.clusters[event.cluster], event.cluster in self.late
        self.queued.pop(event.cluster, None)
        why = event.why.splitlines()[0].removeprefix(f"{cluster.name}: ") if is_late else ""
        yield Show(self.run.plan.path_of(event.cluster), "lost", why)
        if is_late:
            cluster.advance_results(ResultsEvent.CALLED)
            cluster.advance_results(ResultsEvent.SETTLED, "no rank has run there")
            yield LetGo(event.cluster)

    def limit_time(self) -> Iterator[LimitTime]:
        """Let ranks know of the walltime of the run, if it has one."""
        if self.walltimes.is_limited:
            yield self.walltimes.limit(self.run.clock.now)

    def forget(self, cluster: str) -> Iterator[LimitTime]:
        """Let the job of a cluster end when it does: the run goes on without it."""
        if self.walltimes.forget(cluster):
            yield self.walltimes.limit(self.run.clock.now)

    def why_over(self) -> str:
        """Return why the run has to end now; empty where no job is near its end."""
        over = self.walltimes.over(self.run.clock.now)
        if over is None:
            return ""
        left = self.walltimes.left(over, self.run.clock.now)
        what = f"{self.run.clusters[over].name}: its job has {left:.0f} s left"
        cure = "Ask for more walltime, or let the program save its state before that"
        return f"{what}, so the run was ended. {cure}"

    def _show(self, cluster: str, words: str) -> Show:
        late = f"; not there yet: {self.run.plan.ranks_of(cluster)}" if cluster in self.late else ""
        self.queued[cluster] = f"{words}{late}"
        return Show(self.run.plan.path_of(cluster), "queued", self.queued[cluster])

    def _await_start(self) -> None:
        """Let the time for the start begin once no cluster is waited for that is in a queue."""
        there = (one for one in self.run.clusters.values() if one.identifier not in self.late)
        is_there = all(one.place is not PlaceStage.QUEUED for one in there)
        if is_there and self.run.outcome is None:
            self.run.clock.allow(self.run.timeouts.start)
