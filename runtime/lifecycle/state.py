"""The state of a run as a pure machine: events in, effects out, time handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace

from gcm.records import dataclass
from runtime.exit_codes import (
    INTERRUPTED,
    LOST,
    NEVER_STARTED,
    OUTPUT_FAILED,
    TIMED_OUT,
    WALLTIME_OVER,
)
from runtime.lifecycle.cluster_life import (
    ClusterLife,
    JobEvent,
    PlaceEvent,
    PlaceStage,
    ResultsEvent,
    ResultsStage,
)
from runtime.lifecycle.events import (
    Aborted,
    Announce,
    AssemblyEnded,
    Begin,
    Effect,
    Event,
    Explain,
    Explained,
    Fill,
    Finish,
    GiveUp,
    Go,
    Halt,
    Interrupt,
    JobEnded,
    Kill,
    LeaveOut,
    LeftBehind,
    LetGo,
    LimitTime,
    NodeLost,
    OutputFollows,
    OutputPassedOn,
    ParentKilled,
    PlaceClosed,
    PlaceGranted,
    PlaceLate,
    PlaceLost,
    PlaceQueued,
    RankHere,
    RankReady,
    Show,
    Signal,
    Start,
    StepFailed,
    StepUp,
    Stop,
    Stuck,
    Suspected,
    Tick,
)
from runtime.lifecycle.failures import THE_ASSEMBLY, Failures
from runtime.lifecycle.progress import MOST_NAMES, RunProgress
from runtime.lifecycle.rank_life import RankEvent, RankLife
from runtime.lifecycle.replica_results import NeededResults
from runtime.lifecycle.run_life import RunEvent, RunLife, RunPhase, RunStage
from runtime.lifecycle.run_plan import RunPlan
from runtime.lifecycle.suspicions import decided
from runtime.lifecycle.walltimes import Walltimes
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName

_LIVES = {
    RunPhase.PLANNED: "stopped",
    RunPhase.STARTING: "starting",
    RunPhase.HANDSHAKING: "starting",
    RunPhase.ENDING: "stopping",
    RunPhase.DONE: "terminated",
    RunPhase.FAILED: "terminated",
}
"""The state of all parts of the machine where they begin or end together."""


@dataclass(frozen=True, slots=True)
class RunTimeouts:
    """The timeouts of a run, in seconds."""

    start: float = 120.0
    """From the beginning until the application runs."""
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


class IllegalEvent(Exception):
    """An event that cannot happen in this state; the machine is as it was."""


@dataclass(slots=True)
class RunState:
    """One run. `handle` is the only way in; what it returns has to be done in that order.

    A `steered` run goes on, whatever becomes of its codes, until it is told to halt: the program
    that steers it starts and ends them. When it is `idle`, none is running at first.
    """

    plan: RunPlan
    timeouts: RunTimeouts = field(default_factory=RunTimeouts)
    steered: bool = False
    idle: bool = False
    deadline: float | None = None
    errors: list[str] = field(default_factory=list)
    failures: Failures = field(default_factory=Failures)
    """What failed while the application ran."""
    ranks: dict[str, RankLife] = field(init=False)
    clusters: dict[str, ClusterLife] = field(init=False)
    life: RunLife = field(default_factory=RunLife)
    queued: dict[str, str] = field(default_factory=dict)
    """What batch systems say of the jobs of clusters that wait in a queue."""
    late: set[str] = field(default_factory=set)
    """The clusters without which the run began, until their ranks are started."""
    _lost_early: list[PlaceLost] = field(default_factory=list)
    """What became of late ones before the run began; the others are told once they run."""
    walltimes: Walltimes = field(default_factory=Walltimes)
    _progress: RunProgress = field(init=False)
    _needed: NeededResults = field(init=False)
    _assembly_runs: bool = False
    _outcome: int | None = None
    """The exit code, where something else than failures decides it."""
    _interrupts: int = 0
    """How often somebody has pressed Ctrl-C."""
    _now: float = 0.0

    def __post_init__(self) -> None:
        """Begin with nothing."""
        plan = self.plan
        self.ranks = {rank: RankLife(rank, plan.names.name(rank)) for rank in plan.rank_paths}
        closing = [step.partition(":")[2] for step in plan.closing]
        named = {f"front-end:{one}": one for one in (*plan.ranks, *closing)} | {**plan.places}
        self.clusters = {
            cluster: ClusterLife(
                cluster,
                plan.paths.get(step, cluster).removeprefix("/grid/"),
                tuple(self.ranks[one] for one in plan.ranks.get(cluster, ())),
                goes_on=cluster in plan.survivors,
            )
            for step, cluster in named.items()
        }
        self._progress = RunProgress(plan, self.ranks)
        self._needed = NeededResults(plan, self.clusters, self.ranks)

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Return what an event leads to; raises IllegalEvent, and then nothing has changed."""
        action = TRANSITIONS.get((self.state, type(event)))
        if action is None:
            raise IllegalEvent(f"{type(event).__name__} cannot happen while {self.state}")
        for one in (getattr(event, "rank", None), getattr(event, "by", None)):
            if one is not None and str(one) not in self.ranks:
                raise IllegalEvent(f"{type(event).__name__} is about {one}, which is no rank")
        self._now = now
        return list(action(self, event))

    @property
    def state(self) -> RunPhase:
        """Where the run is."""
        return self.life.phase

    @property
    def due(self) -> float | None:
        """When the next `Tick` is due; None for never."""
        walltime = self.walltimes.due if self.life.stage is RunStage.RUNNING else None
        return min((one for one in (self.deadline, walltime) if one is not None), default=None)

    @property
    def deaths(self) -> dict[str, RankDeath]:
        """How every rank has died that has ended and was not told to."""
        return {rank: one.death for rank, one in self.ranks.items() if one.death is not None}

    # --- up to the start of the application ---------------------------------------------------

    def _begin(self, _: Begin) -> Iterable[Effect]:
        self.life.advance(RunEvent.BEGUN)
        self.deadline = self._now + self.timeouts.start
        yield from self._start_what_can()

    def _start_what_can(self) -> Iterable[Effect]:
        """Start every step whose dependencies are up."""
        for name in self._progress.next_steps():
            if name == self.plan.start:
                yield from self._go()
                continue
            if name in self.plan.places:
                self.clusters[self.plan.places[name]].advance_place(PlaceEvent.OPENED)
            yield Show(self.plan.paths[name], "starting", name.partition(":")[0])
            yield Start(name)
        if self._progress.have_all_ranks_begun:
            self.life.advance(RunEvent.RANKS_BEGUN)

    def _go(self) -> Iterable[Effect]:
        self.life.advance(RunEvent.RELEASED)
        self.deadline = self._now + self.timeouts.run if self.timeouts.run else None
        self._progress.step_up(self.plan.start)
        self._assembly_runs = self.plan.has_assembly and not self.steered
        absent = sorted(self.late)
        for cluster in absent:
            yield from self._keep_places(self.clusters[cluster])
        if self.walltimes.is_limited:
            yield self._time_limit()
        yield Go()
        if not self.idle:
            for cluster in self.plan.ranks.keys() - absent:
                self.clusters[cluster].advance_job(JobEvent.STARTED)
            for rank, path in self.plan.rank_paths.items():
                if not self.ranks[rank].is_over:
                    self.ranks[rank].advance(RankEvent.RELEASED)
                    yield Show(path, "running")
        for event in self._lost_early:
            self.late.remove(event.cluster)
            yield from self._go_on_without(self.clusters[event.cluster], event.why, _NEVER_THERE)
        yield from self._end_if_all_ended()

    def _time_limit(self) -> LimitTime:
        return LimitTime(*self.walltimes.limit(self._now))

    def _keep_places(self, cluster: ClusterLife) -> Iterable[Effect]:
        """Count ranks that come later as lost: others will be started in their places."""
        for one in cluster.ranks:
            death = RankDeath.lost(one.rank, "has not come yet, its cluster waits in a queue")
            one.die(death, is_kept=False)
            yield Show(self.plan.rank_paths[one.rank], "queued")
            yield self._announce(death)

    def _place_queued(self, event: PlaceQueued) -> Iterable[Effect]:
        """Wait for as long as the queue takes: the user has asked for these nodes."""
        cluster = self.clusters[event.cluster]
        if cluster.place is PlaceStage.LOST:  # it was given up when this was already under way
            return
        cluster.advance_place(PlaceEvent.QUEUED, event.words)
        if event.cluster not in self.late:
            self.deadline = None
        yield self._show_queued(event.cluster, event.words)

    def _place_late(self, event: PlaceLate) -> Iterable[Effect]:
        """Begin without a cluster; so its steps are not waited for."""
        self.late.add(event.cluster)
        self._progress.leave_out(self.late)
        self._await_start()
        yield LeaveOut(event.cluster)
        yield self._show_queued(event.cluster, self.queued.get(event.cluster, "in the queue"))
        yield from self._start_what_can()

    def _show_queued(self, cluster: str, words: str) -> Show:
        late = f"; not there yet: {self._ranks_of(cluster)}" if cluster in self.late else ""
        self.queued[cluster] = f"{words}{late}"
        return Show(self._path_of(cluster), "queued", self.queued[cluster])

    def _ranks_of(self, cluster: str) -> str:
        return self.plan.names.numbers(cluster, 0, len(self.plan.ranks[cluster]))

    def _place_granted(self, event: PlaceGranted) -> Iterable[Effect]:
        cluster = self.clusters[event.cluster]
        if cluster.place is PlaceStage.LOST:
            return
        cluster.advance_place(PlaceEvent.GRANTED)
        self.queued.pop(event.cluster, None)
        if event.walltime is not None:
            self.walltimes.grant(event.cluster, event.walltime, self._now)
        if event.cluster not in self.late:
            self._await_start()
        left = self.walltimes.left(event.cluster, self._now)
        yield Show(self._path_of(event.cluster), "starting", "front-end", left)

    def _await_start(self) -> None:
        """Let the time for the start begin once no cluster is waited for that is in a queue."""
        waiting = {one.identifier for one in self.clusters.values() if one.place is _QUEUED}
        if waiting <= self.late:
            self.deadline = self._now + self.timeouts.start

    def _path_of(self, cluster: str) -> str:
        return self.plan.paths[f"front-end:{cluster}"]

    def _step_up(self, event: StepUp) -> Iterable[Effect]:
        self._progress.step_up(event.step)
        yield Show(self.plan.paths[event.step], "up", event.step.partition(":")[0])
        yield from self._start_what_can()

    def _step_failed(self, event: StepFailed) -> Iterable[Effect]:
        if (cluster := event.step.partition(":")[2]) in self.late:
            yield from self._place_lost(PlaceLost(cluster, event.why))
            return
        yield Show(self.plan.paths[event.step], "failed", event.step.partition(":")[0])
        yield from self._fail(event.why, NEVER_STARTED)

    def _rank_here(self, event: RankHere) -> Iterable[Effect]:
        self.ranks[event.rank].advance(RankEvent.FOUND)
        return ()

    def _rank_ready(self, event: RankReady) -> Iterable[Effect]:
        self.ranks[event.rank].advance(RankEvent.PREPARED)
        yield Show(self.plan.rank_paths[event.rank], "ready")

    def _too_early(self, event: RankDeath | JobEnded) -> Iterable[Effect]:
        """A rank or a job has ended before the application began."""
        if isinstance(event, RankDeath):
            yield Show(self.plan.rank_paths[event.who], "failed", f"exit code {event.code}")
            name = self.plan.names.name(event.who)
            what = f"{name} ended with code {event.code} before the application ran"
        else:
            place = self.plan.names.name(event.cluster)
            ended = f"{place}: its MPI ended with code {event.code}"
            what = f"{ended} before all its ranks were ready"
        yield from self._fail(event.why or what, NEVER_STARTED)

    def _late_start(self, _: Tick) -> Iterable[Effect]:
        if self.deadline is not None and self._now >= self.deadline:
            waited = f"{self.timeouts.start:g} s"
            missing = self._progress.missing_in_words()
            what = f"not everything was up within {waited}; still missing: {missing}"
            cure = "Look at the output above, or allow more time with --timeout"
            yield from self._fail(f"{what}. {cure}", NEVER_STARTED)

    def life_of(self, part: str) -> str:
        """Return the state of a part of the machine in the words of components' life cycles.

        `part` identifies a rank or a cluster (`0:1:2`, `0:1`), a site or the grid, which live as
        long as the run. A rank that has ended is stopped as long as it may be started again.
        """
        if self.state is not RunPhase.RUNNING:
            return _LIVES[self.state]
        cluster = self.clusters.get(":".join(part.split(":")[:2]))
        if cluster is not None and cluster.place is PlaceStage.LOST:
            return "terminated"
        rank = self.ranks.get(part)
        is_over = rank is not None and (rank.is_over or cluster is None or not cluster.runs)
        return "stopped" if is_over else "started"

    # --- while the application runs -----------------------------------------------------------

    def _rank_again(self, event: RankReady) -> Iterable[Effect]:
        """A code, or a rank in place of a lost one, was started, or started again."""
        self.ranks[event.rank].restart()
        self._cluster_of(event.rank).advance_job(JobEvent.STARTED)
        yield Show(self.plan.rank_paths[event.rank], "running")

    def _cluster_of(self, rank: str) -> ClusterLife:
        return self.clusters[RankName.parse(rank).cluster]

    def _late_step_up(self, event: StepUp) -> Iterable[Effect]:
        """Start the ranks of a cluster that has come late, once its front-end can do that."""
        kind, _, cluster = event.step.partition(":")
        if cluster not in self.late:
            return
        yield Show(self._path_of(cluster), "up" if kind == "front-end" else "starting", kind)
        if kind == "ranks":
            self.late.remove(cluster)
            if self.walltimes.is_limited:
                yield self._time_limit()
            yield Fill(cluster)

    def _not_again(self, event: StepFailed) -> Iterable[Effect]:
        """A code could not be started, whose starter is told why; or a late cluster cannot come."""
        if (cluster := event.step.partition(":")[2]) in self.late:
            yield from self._place_lost(PlaceLost(cluster, event.why))
        elif cluster not in self.clusters or self.clusters[cluster].place is not PlaceStage.LOST:
            yield Show(self.plan.paths[event.step], "failed", event.step.partition(":")[0])

    def _rank_died(self, death: RankDeath) -> Iterable[Effect]:
        goes_on = self.clusters[death.rank.cluster].goes_on
        if not self.steered:
            is_lost = bool(self.plan.replicas) or not death.is_stated or self._was_left_alone(death)
            is_lost &= goes_on
            self.failures.rank_died(death, goes_on=is_lost)
        yield from self._show_end(death)
        if goes_on:
            yield self._announce(death)
            self._check_replicas(death.who)
            yield from self._end_if_all_ended()
        else:
            if death.code and not death.is_stated:
                yield self._announce(death)
            self._let_others_end()

    def _was_left_alone(self, death: RankDeath) -> bool:
        """Tell whether a rank that was started later found nobody: all others had ended well."""
        first = (
            one
            for cluster in self.clusters.values()
            if cluster.identifier not in self.late
            for one in cluster.ranks
            if not one.was_restarted
        )
        is_later = self.ranks[death.who].was_restarted and death.observed.is_loss
        return is_later and all(one.has_ended_well for one in first)

    def _show_end(self, death: RankDeath) -> Iterable[Effect]:
        """Keep the death of a rank, unless others had ended it, and show it."""
        is_kept = self.steered or not death.after
        self.ranks[death.who].die(death, is_kept=is_kept)
        word = "ended" if death.observed.is_loss or not is_kept else "failed"
        word = "done" if is_kept and not death.code else word
        yield Show(self.plan.rank_paths[death.who], word, death.ending)

    def _announce(self, death: RankDeath) -> Announce:
        self.ranks[death.who].announced = death
        return Announce(death)

    def _check_replicas(self, ended: str) -> None:
        """Give the others a while to end once a rank has lost all replicas, or each has a result.

        A replica that fails counts as lost, whatever the reason: its host may be to blame.
        """
        may_settle = self.life.stage in (RunStage.RUNNING, RunStage.OVERDUE)
        if not self.plan.replicas or not may_settle:
            return
        if self._needed.has_lost_all_of(ended):
            self.failures.blame_what_was_lost(ended)
            self._let_others_end()
        elif not self._needed.ranks_without() and self._needed.are_whole():
            self._settle("each rank has a result")

    def _lose_results(self, cluster: str) -> None:
        """What replicas of a cluster have made is gone with it: others are needed again."""
        makes = any(step.partition(":")[2] == cluster for step in self.plan.closing)
        if not (self.plan.replicas and makes):
            return
        for one in self.clusters[cluster].ranks:
            if one.has_ended_well:
                why = "what it made was lost with its front-end"
                one.die(replace(RankDeath.lost(one.rank, why), supersedes=True), is_kept=True)
        if self.life.is_settling and not self.failures.code and self._needed.ranks_without():
            self.life.advance(RunEvent.SPARED)
            self.deadline = None

    def _aborted(self, _: Aborted) -> Iterable[Effect]:
        if not self.steered:
            self.failures.aborted()
            yield from self._stop("a rank has called MPI.Abort")

    def _job_ended(self, event: JobEnded) -> Iterable[Effect]:
        cluster = self.clusters[event.cluster]
        cluster.advance_job(JobEvent.ENDED, f"it has ended with code {event.code}")
        is_unknown = not self.failures.has_failed_rank_of(event.cluster)
        goes_on = cluster.goes_on
        if not self.steered and (event.is_fault or is_unknown):
            code = LOST if event.is_fault else event.code
            self.failures.other(event.cluster, code, event.why, goes_on=goes_on)
        word = "done" if event.code == 0 else "failed"
        yield Show(self.plan.paths[f"ranks:{event.cluster}"], word, f"exit code {event.code}")
        if not goes_on:
            self._let_others_end()
        yield from self._end_if_all_ended()

    def _let_others_end(self) -> None:
        """Give all others a while to end by themselves once something has failed."""
        may_settle = self.life.stage in (RunStage.RUNNING, RunStage.OVERDUE)
        if self.failures.code and may_settle:
            self._settle()

    def _settle(self, why: str = "") -> None:
        self.life.advance(RunEvent.FAILURE, why)
        if not self._is_only_output_left:
            self.deadline = self._now + self.timeouts.settle

    def _output_follows(self, event: OutputFollows) -> Iterable[Effect]:
        self.clusters[event.cluster].advance_job(JobEvent.OUTPUT_LEFT)
        yield from self._end_if_all_ended()

    @property
    def _jobs(self) -> list[ClusterLife]:
        """The clusters whose jobs have not ended."""
        return [one for one in self.clusters.values() if one.runs]

    @property
    def _is_only_output_left(self) -> bool:
        """Whether nothing runs any more; then whoever reads the output sets the pace."""
        is_over = all(one.has_output or one.is_kept for one in self._jobs)
        return is_over and not (self._assembly_runs or self.steered)

    def _assembly_ended(self, event: AssemblyEnded) -> Iterable[Effect]:
        self._assembly_runs = False
        self.failures.other(THE_ASSEMBLY, event.code, event.why)
        self._let_others_end()
        yield from self._end_if_all_ended()

    def _end_if_all_ended(self) -> Iterable[Effect]:
        """End the run with its last job, or where a rank was lost with the last rank.

        There no job ends before, since another process may be started in place of a lost one.
        """
        jobs_go_on = any(not one.is_kept for one in self._jobs)
        if jobs_go_on or self._assembly_runs or self.steered:
            if self._is_only_output_left and self.life.may_wait:
                self.deadline = None
            return
        yield from self._stop("all has ended")

    def _settled(self, _: Tick) -> Iterable[Effect]:
        if self.life.stage is RunStage.RUNNING:
            for cluster, signal in self.walltimes.take_signals(self._now):
                yield Signal(cluster, signal)
            if over := self.walltimes.over(self._now):
                left_of_job = self.walltimes.left(over, self._now)
                what = f"{self.clusters[over].name}: its job has {left_of_job:.0f} s left"
                cure = "Ask for more walltime, or let the program save its state before that"
                yield from self._fail(f"{what}, so the run was ended. {cure}", WALLTIME_OVER)
                return
        if self.deadline is None or self._now < self.deadline:
            return
        if not self.life.is_settling:
            yield from self._time_is_over()
        else:
            left = self._left() or THE_ASSEMBLY
            self.failures.stopped = f"{left} did not end within {self.timeouts.settle:g} s"
            yield from self._stop(self.failures.stopped)

    def _left(self) -> str:
        """Return whose ranks have not ended, an empty string where none are left."""
        left = sorted(one.identifier for one in self._jobs if not one.has_output)
        few = len(left) <= MOST_NAMES
        where = self.plan.names.names(left) if few else f"{len(left)} clusters"
        return f"the other ranks of {where}" if left else ""

    def _time_is_over(self) -> Iterable[Effect]:
        """Let the ranks say what they are doing, then end the run, whether they do or not."""
        if self.life.stage is not RunStage.RUNNING:
            yield from self._explained(Explained())
            return
        self.life.advance(RunEvent.TIME_OVER)
        self.deadline = self._now + self.timeouts.explain
        yield Explain()

    def _explained(self, _: Explained) -> Iterable[Effect]:
        if self.life.stage is RunStage.INTERRUPTED:
            yield from self._stop()
            return
        why = f"the application ran for more than {self.timeouts.run:g} s, so it was ended"
        yield from self._fail(why, TIMED_OUT)

    def _left_behind(self, event: LeftBehind) -> Iterable[Effect]:
        """End a run that cannot go on: native MPI would let the ranks wait for ever."""
        if self.life.is_settling and event.are_all and self.failures.code:
            self.failures.stopped = f"{self._left()} waited for ranks that had ended"
            yield from self._stop(self.failures.stopped)
            return
        goes_on = self.steered or self.plan.survivors  # calls raise errors there
        if not goes_on and self.life.stage is RunStage.RUNNING:
            yield from self._fail(f"{event.what}:\n    " + event.why.replace("\n", "\n    "), LOST)

    def _stuck(self, event: Stuck) -> Iterable[Effect]:
        """Show that ranks run and yet will never do anything more."""
        for rank in event.ranks:
            if self.ranks[rank].death is None:
                yield Show(self.plan.rank_paths[rank], "stuck")

    def _place_lost(self, event: PlaceLost) -> Iterable[Effect]:
        cluster = self.clusters[event.cluster]
        if cluster.place is PlaceStage.LOST:  # it was let go of before its front-end has gone
            return
        is_late = event.cluster in self.late
        cluster.advance_place(PlaceEvent.LOST, event.why)
        cluster.advance_job(JobEvent.ENDED, "it was lost with its front-end")
        self.queued.pop(event.cluster, None)
        why = event.why.splitlines()[0].removeprefix(f"{cluster.name}: ") if is_late else ""
        yield Show(self._path_of(event.cluster), "lost", why)
        if is_late:
            cluster.advance_results(ResultsEvent.CALLED)
            cluster.advance_results(ResultsEvent.SETTLED, "no rank has run there")
            yield LetGo(event.cluster)
        if is_late and self.state is not RunPhase.RUNNING:
            self._lost_early.append(event)
            return
        self.late.discard(event.cluster)
        if self.state is RunPhase.RUNNING and cluster.goes_on:
            how = _NEVER_THERE if is_late else "was lost with its front-end"
            yield from self._go_on_without(cluster, event.why, how)
        else:
            yield from self._lost(event.cluster, event.why)

    def _go_on_without(self, cluster: ClusterLife, why: str, how: str) -> Iterable[Effect]:
        """Let the others know that a front-end has gone, and how with it all of its ranks."""
        self.failures.other(cluster.identifier, LOST, why, goes_on=True)
        if self.walltimes.forget(cluster.identifier):
            yield self._time_limit()
        for one in cluster.ranks:
            if one.death is None:
                death = RankDeath.lost(one.rank, how)
                one.die(death, is_kept=True)
                yield self._announce(death)
                self._check_replicas(one.rank)
        self._lose_results(cluster.identifier)
        yield from self._end_if_all_ended()

    def _suspected(self, event: Suspected) -> Iterable[Effect]:
        yield from decided(event, self.ranks, self.clusters)

    def _node_lost(self, event: NodeLost) -> Iterable[Effect]:
        yield Show(self.plan.paths[event.step], "lost")
        yield from self._lost(event.step, event.why)

    def _parent_killed(self, event: ParentKilled) -> Iterable[Effect]:
        """Blame what took the front-ends of this machine along, whatever they have told of it."""
        goes_on = bool(self.plan.survivors)  # each front-end is told to be lost as well
        if self._outcome is None:
            who = "the front-ends of this machine"
            self.failures.common_cause(who, LOST, event.why, goes_on=goes_on)
        if not goes_on and self.state is RunPhase.RUNNING:
            yield from self._stop(event.why)

    def _lost(self, what: str, why: str) -> Iterable[Effect]:
        """End the run, since a part of the machine has gone without being asked."""
        if self.state is RunPhase.RUNNING:
            self.failures.other(what, LOST, why)
            yield from self._stop(f"{what} is lost")
        else:
            yield from self._fail(why, NEVER_STARTED)

    # --- the end ------------------------------------------------------------------------------

    def _fail(self, why: str, code: int) -> Iterable[Effect]:
        self.errors.append(why)
        self._outcome = code
        yield from self._stop(why)

    def _halt(self, _: Halt) -> Iterable[Effect]:
        if self.state is RunPhase.ENDING:
            return
        if not (self.state is RunPhase.RUNNING and self.steered and not self._jobs):
            self._outcome = self.failures.code
        self.life.advance(RunEvent.HALTED)
        yield from self._stop()

    def _interrupt(self, _: Interrupt) -> Iterable[Effect]:
        """End the run in order, after a short look at what its ranks wait for; then at once."""
        self._interrupts += 1
        is_first = self._interrupts == 1
        if self.state is not RunPhase.ENDING:
            self._outcome = INTERRUPTED
            runs = self._jobs and not self._is_only_output_left
            if is_first and runs and self.life.stage is RunStage.RUNNING:
                self.life.advance(RunEvent.CTRL_C)
                self.deadline = self._now + self.timeouts.glance
                yield Explain(is_brief=True)
                return
            self.life.advance(RunEvent.HALTED, RunEvent.CTRL_C)
            yield from self._stop()
            if is_first:
                return
        if self._open and self.life.stage is not RunStage.KILLED:
            yield from self._kill()
        if self._interrupts == 2:
            yield GiveUp()

    def _interrupt_before(self, _: Interrupt | Halt) -> Iterable[Effect]:
        self.life.advance(RunEvent.ENDED_BADLY)
        yield Finish(INTERRUPTED)

    def _stop(self, why: str = "") -> Iterable[Effect]:
        self.life.advance(RunEvent.STOPPED, why)
        self.deadline = self._now + self.timeouts.grace
        self._await_reader()
        yield Stop()
        yield from self._finish_if_closed()

    def _late_output(self, event: OutputFollows) -> Iterable[Effect]:
        self.clusters[event.cluster].advance_job(JobEvent.OUTPUT_LEFT)
        self._await_reader()
        return ()

    @property
    def _open(self) -> list[ClusterLife]:
        """The clusters whose front-ends may still be there."""
        return [one for one in self.clusters.values() if one.is_open]

    def _await_reader(self) -> None:
        """Wait where nothing but unread output is left, unless the end is wanted now."""
        left = self._open
        is_patient = self.life.stage is RunStage.ENDING
        if left and is_patient and all(one.has_output for one in left):
            self.deadline = self._now + self.timeouts.output

    def _output_taken(self, event: OutputPassedOn) -> Iterable[Effect]:
        cluster = self.clusters[event.cluster]
        if cluster.has_output and self.life.stage is not RunStage.KILLED:
            self.deadline = self._now + self.timeouts.grace
        cluster.advance_job(JobEvent.OUTPUT_TAKEN)
        return ()

    def _lose_output(self, clusters: Iterable[ClusterLife]) -> None:
        """Take note of front-ends that end before all of their output has been taken."""
        for one in sorted(clusters, key=lambda one: one.identifier):
            if one.has_output:
                path = self.plan.paths[f"front-end:{one.identifier}"]
                why = f"the rest of the output of {path} is lost: nobody had read it by the end"
                self._spoil(f"output:{one.identifier}", why)

    def _spoil(self, what: str, why: str) -> None:
        """Take note that something the application made is lost, which spoils a good run."""
        self.failures.other(what, OUTPUT_FAILED, why)
        if self._outcome == 0:
            self._outcome = OUTPUT_FAILED

    def _kill(self) -> Iterable[Effect]:
        self._lose_output(self._open)
        self.life.advance(RunEvent.KILLED)
        self.deadline = None
        yield Kill()

    def _overdue(self, _: Tick) -> Iterable[Effect]:
        if self.deadline is not None and self._now >= self.deadline:
            yield from self._kill()

    def _closing_step_done(self, event: StepUp | StepFailed) -> Iterable[Effect]:
        """Files have come home, or not; a late word of an opening step changes nothing."""
        name = event.step.partition(":")[2]
        cluster = self.clusters.get(name) if event.step in self.plan.closing else None
        if cluster is None or cluster.results is not ResultsStage.MOVING:
            return
        cluster.advance_results(ResultsEvent.SETTLED)
        if isinstance(event, StepFailed):
            if self._needed.are_elsewhere(name):
                self._lose_results(name)
            else:
                self._spoil(event.step, event.why)
        yield from self._finish_if_closed()

    def _late_rank(self, death: RankDeath) -> Iterable[Effect]:
        """A rank ends after the run was stopped; it may be why it had to be.

        A replica is not, once each rank has a result: it was behind, or was started again too late.
        """
        if self.life.stage is not RunStage.KILLED:
            death = self.failures.seen_late(death)
        is_wanted = self.failures.has_failed(death.who) or not self.failures.is_explained
        is_wanted &= not self.plan.replicas or bool(self._needed.ranks_without())
        if self._outcome is None and not self.steered:
            (self.failures.rank_died if is_wanted else self.failures.late_rank_died)(death)
        yield from self._show_end(death)

    def _late_job(self, event: JobEnded) -> Iterable[Effect]:
        if self._outcome is None and event.is_fault and not self.steered:
            self.failures.other(event.cluster, LOST, event.why)
        return ()

    def _late_assembly(self, event: AssemblyEnded) -> Iterable[Effect]:
        """It failed while it was ended; whatever ended the run comes first."""
        is_first = not self.errors and self.failures.first is None
        if event.why and is_first and self._outcome is None:
            self.failures.other(THE_ASSEMBLY, event.code, event.why)
        return ()

    def _place_closed(self, event: PlaceClosed | PlaceLost) -> Iterable[Effect]:
        cluster = self.clusters[event.cluster]
        if cluster.place is PlaceStage.LOST:
            return
        is_lost = isinstance(event, PlaceLost)
        cluster.advance_place(PlaceEvent.LOST if is_lost else PlaceEvent.CLOSED)
        why = ""
        if event.cluster in self.late:
            why = f"its job was cancelled; never there: {self._ranks_of(event.cluster)}"
        yield Show(self._path_of(event.cluster), "ended", why)
        self._lose_output([cluster])
        cluster.advance_job(JobEvent.OUTPUT_TAKEN)
        self._await_reader()
        yield from self._finish_if_closed()

    def _finish_if_closed(self) -> Iterable[Effect]:
        yield from self._needed.next_steps()
        if self._open:
            return
        self.deadline = None
        if self._needed.are_moving:
            return
        if self._was_not_survived():
            self.failures.blame_what_was_lost()
        code = self.failures.code if self._outcome is None else self._outcome
        self.life.advance(
            RunEvent.ENDED_BADLY if code else RunEvent.ENDED_WELL, f"all has ended, code {code}"
        )
        yield Finish(code)

    def _was_not_survived(self) -> bool:
        """Tell whether what was lost keeps the run from being a good one."""
        if self.plan.replicas:
            return bool(self._needed.ranks_without())
        return self.failures.was_not_survived or all(one.code for one in self.deaths.values())

    def _nothing(self, _: Event) -> Iterable[Effect]:
        return ()


_QUEUED = PlaceStage.QUEUED
_NEVER_THERE = "will never come, its cluster was given up"
_Action = Callable[..., Iterable[Effect]]
_S, _R = RunPhase, RunState
_BEFORE = (_S.STARTING, _S.HANDSHAKING)
_STARTED = (_S.RUNNING, _S.ENDING)
_TABLE: tuple[tuple[tuple[RunPhase, ...], tuple[type, ...], _Action], ...] = (
    ((_S.PLANNED,), (Begin,), _R._begin),
    ((_S.PLANNED,), (Interrupt, Halt), _R._interrupt_before),
    ((*_BEFORE, *_STARTED), (Interrupt,), _R._interrupt),
    ((*_BEFORE, *_STARTED), (Halt,), _R._halt),
    (_BEFORE, (StepUp,), _R._step_up),
    (_BEFORE, (StepFailed,), _R._step_failed),
    (_BEFORE, (RankHere,), _R._rank_here),
    (_BEFORE, (RankReady,), _R._rank_ready),
    (_BEFORE, (RankDeath, JobEnded), _R._too_early),
    (_BEFORE, (Tick,), _R._late_start),
    (_BEFORE, (OutputFollows, OutputPassedOn, ParentKilled, PlaceClosed), _R._nothing),
    ((*_BEFORE, _S.RUNNING), (PlaceQueued,), _R._place_queued),
    ((*_BEFORE, _S.RUNNING), (PlaceGranted,), _R._place_granted),
    (_BEFORE, (PlaceLate,), _R._place_late),
    ((_S.ENDING,), (PlaceQueued, PlaceLate, PlaceGranted), _R._nothing),
    ((*_BEFORE, _S.RUNNING), (PlaceLost,), _R._place_lost),
    ((*_BEFORE, _S.RUNNING), (NodeLost,), _R._node_lost),
    ((_S.RUNNING,), (StepUp,), _R._late_step_up),
    ((_S.RUNNING,), (RankHere, OutputPassedOn, PlaceClosed), _R._nothing),
    ((_S.RUNNING,), (StepFailed,), _R._not_again),
    ((_S.RUNNING,), (RankReady,), _R._rank_again),
    ((_S.RUNNING,), (RankDeath,), _R._rank_died),
    ((_S.RUNNING,), (Aborted,), _R._aborted),
    ((_S.RUNNING,), (JobEnded,), _R._job_ended),
    ((_S.RUNNING,), (OutputFollows,), _R._output_follows),
    ((_S.RUNNING,), (AssemblyEnded,), _R._assembly_ended),
    ((_S.RUNNING,), (Tick,), _R._settled),
    ((_S.RUNNING,), (Explained,), _R._explained),
    ((_S.RUNNING,), (LeftBehind,), _R._left_behind),
    ((_S.RUNNING,), (Stuck,), _R._stuck),
    ((_S.RUNNING,), (Suspected,), _R._suspected),
    (_STARTED, (ParentKilled,), _R._parent_killed),
    ((_S.ENDING,), (StepUp, StepFailed), _R._closing_step_done),
    ((_S.ENDING,), (RankDeath,), _R._late_rank),
    ((_S.ENDING,), (JobEnded,), _R._late_job),
    ((_S.ENDING,), (AssemblyEnded,), _R._late_assembly),
    ((_S.ENDING,), (OutputFollows,), _R._late_output),
    ((_S.ENDING,), (OutputPassedOn,), _R._output_taken),
    ((_S.ENDING,), (Tick,), _R._overdue),
    ((_S.ENDING,), (PlaceLost, PlaceClosed), _R._place_closed),
    ((_S.ENDING,), (RankHere, RankReady, Aborted, NodeLost), _R._nothing),
    ((_S.ENDING,), (Explained, LeftBehind, Stuck, Suspected), _R._nothing),
)
TRANSITIONS: dict[tuple[RunPhase, type], _Action] = {
    (state, event): action
    for states, events, action in _TABLE
    for state in states
    for event in events
}
"""Which action each event leads to in each state; a pair that is not here cannot happen."""
