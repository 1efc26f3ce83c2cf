"""The clusters whose nodes a batch system grants: queued, late, or there for a limited time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from gcm.records import dataclass
from runtime.lifecycle import events
from runtime.lifecycle.cluster_life import ClusterLife, PlaceEvent, PlaceStage, ResultsEvent
from runtime.lifecycle.events import AskAgain, Effect, Fill, LeaveOut, LetGo, Show
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.walltimes import Walltimes
from runtime.machine.deaths import RankDeath
from runtime.step_name import StepKind


@dataclass(slots=True)
class BatchJobs:
    """The batch jobs of a run: what is known of queues, and what came of late clusters."""

    run: RunParts
    walltimes: Walltimes
    queued: dict[str, str] = field(default_factory=dict)
    """What batch systems say of the jobs of clusters that wait in a queue."""
    lost: dict[str, list[str]] = field(default_factory=dict)
    """What became of the jobs of clusters that have asked for others."""
    lost_early: list[events.PlaceLost] = field(default_factory=list)
    """What became of late ones before the run began; the others are told once they run."""

    def wait_for(self, event: events.PlaceQueued) -> Iterator[Effect]:
        """Wait for as long as the queue takes: the user has asked for these nodes."""
        self.run.clusters[event.cluster].advance_place(PlaceEvent.QUEUED, event.words)
        if event.cluster not in self.run.late and self.run.outcome is None:
            self.run.clock.deadline = None
        yield self._show(event.cluster, event.words)

    def leave_out(self, cluster: str) -> Iterator[Effect]:
        """Wait no longer for a cluster, which comes late."""
        self.run.late.add(cluster)
        self._await_start()
        yield LeaveOut(cluster)
        yield self._show(cluster, self.queued.get(cluster, "in the queue"))

    def grant(self, event: events.PlaceGranted) -> Iterator[Effect]:
        """Let the front-end start on the nodes of a cluster, and count their time."""
        cluster = event.cluster
        self.run.clusters[cluster].advance_place(PlaceEvent.GRANTED)
        self.queued.pop(cluster, None)
        if event.walltime is not None:
            self.walltimes.grant(cluster, event.walltime, is_outlived=self.may_ask(cluster))
        if cluster not in self.run.late:
            self._await_start()
        left = self.walltimes.left(cluster, self.run.clock.now)
        yield Show(self.run.plan.path_of(cluster), "starting", "front-end", left)

    def keep_places(self) -> Iterator[Effect]:
        """Count ranks that come later as lost: others will be started in their places."""
        for one in (
            rank for name in sorted(self.run.late) for rank in self.run.clusters[name].ranks
        ):
            death = RankDeath.lost(one.rank, "has not come yet, its cluster waits in a queue")
            one.die(death, is_kept=False)
            yield Show(self.run.plan.rank_paths[one.rank], "queued")
            yield self.run.announce(death)

    def step_up(self, event: events.StepUp) -> Iterator[Effect]:
        """Start the ranks of a cluster that has come late, once its front-end can do that."""
        kind, cluster = event.step.kind, event.step.about
        if cluster not in self.run.late:
            return
        state = "up" if kind is StepKind.FRONT_END else "starting"
        yield Show(self.run.plan.path_of(cluster), state, str(kind))
        if kind is StepKind.RANKS:
            self.run.late.remove(cluster)
            yield from self.walltimes.limit()
            yield Fill(cluster)

    def lose(self, event: events.PlaceLost) -> Iterator[Effect]:
        """Take no note any more of the job of a cluster; one that is late never comes."""
        cluster, is_late = self.run.clusters[event.cluster], event.cluster in self.run.late
        self.queued.pop(event.cluster, None)
        is_told = is_late or event.cluster in self.lost
        why = _first_line(cluster, event.why) if is_told else ""
        yield Show(self.run.plan.path_of(event.cluster), "lost", why)
        if is_late:
            cluster.advance_results(ResultsEvent.CALLED)
            cluster.advance_results(ResultsEvent.SETTLED, "no rank has run there")
            yield LetGo(event.cluster)

    def may_ask(self, cluster: str) -> bool:
        """Tell whether another job may be asked for once that of a cluster has ended."""
        return len(self.lost.get(cluster, ())) < self.run.plan.again.get(cluster, 0)

    def ask_again(self, event: events.PlaceLost) -> Iterator[Effect]:
        """Let a cluster come late whose job has ended: its ranks are started in another one."""
        cluster, name = self.run.clusters[event.cluster], event.cluster
        ended, jobs = _first_line(cluster, event.why), self.lost.setdefault(name, [])
        jobs.append(ended)
        asks = f"asks for another job ({len(jobs)} of {self.run.plan.again[name]})"
        yield Show(self.run.plan.path_of(name), "lost", f"{asks}: {ended}")
        yield from self.walltimes.forget(name)
        self.run.late.add(name)
        cluster.advance_place(PlaceEvent.OPENED)
        for one in cluster.ranks:
            if not one.has_ended_well:
                yield Show(self.run.plan.rank_paths[one.rank], "queued")
        yield self._show(name, asks)
        yield AskAgain(name)

    def before(self, cluster: str) -> str:
        """Return what became of the jobs instead of which others were asked for, for a message."""
        jobs = self.lost.get(cluster, ())
        head = f'\n    again="{self.run.plan.again.get(cluster)}", and these jobs were lost before:'
        return "\n        ".join((head, *jobs)) if jobs else ""

    def over(self) -> events.PlaceLost | None:
        """Return a cluster whose job is near its end, and how near; None for none."""
        over = self.walltimes.over()
        if over is None:
            return None
        left = self.walltimes.left(over, self.run.clock.now)
        what = f"{self.run.clusters[over].name}: its job has {left:.0f} s left"
        return events.PlaceLost(over, what)

    def _show(self, cluster: str, words: str) -> Show:
        late = (
            f"; not there yet: {self.run.plan.ranks_of(cluster)}"
            if cluster in self.run.late
            else ""
        )
        self.queued[cluster] = f"{words}{late}"
        return Show(self.run.plan.path_of(cluster), "queued", self.queued[cluster])

    def _await_start(self) -> None:
        """Let the time for the start begin once no cluster is waited for that is in a queue."""
        there = (one for one in self.run.clusters.values() if one.identifier not in self.run.late)
        is_there = all(one.place is not PlaceStage.QUEUED for one in there)
        if is_there and self.run.outcome is None:
            self.run.clock.allow(self.run.timeouts.start)


def _first_line(cluster: ClusterLife, why: str) -> str:
    return why.splitlines()[0].removeprefix(f"{cluster.name}: ")
