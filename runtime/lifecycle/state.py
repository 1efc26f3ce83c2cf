"""The state of a run as a pure machine: events in, effects out, time handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from runtime.exit_codes import LOST, NEVER_STARTED, TIMED_OUT, WALLTIME_OVER
from runtime.lifecycle import events
from runtime.lifecycle.batch_jobs import BatchJobs
from runtime.lifecycle.cluster_life import ClusterLife, JobEvent, PlaceEvent, PlaceStage
from runtime.lifecycle.events import Effect, Event, Explain, Go, Show, Start
from runtime.lifecycle.failures import THE_ASSEMBLY
from runtime.lifecycle.progress import MOST_NAMES, RunProgress
from runtime.lifecycle.rank_life import RankEvent
from runtime.lifecycle.replica_results import NeededResults
from runtime.lifecycle.run_ending import RunEnding
from runtime.lifecycle.run_life import RunEvent, RunPhase, RunStage
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.suspicions import decided
from runtime.lifecycle.walltimes import Walltimes
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName


class IllegalEvent(Exception):
    """An event that cannot happen in this state; the machine is as it was."""


class RunState:
    """One run. `handle` is the only way in; what it returns has to be done in that order."""

    def __init__(self, run: RunParts) -> None:
        self.run = run
        self.batch = BatchJobs(run, Walltimes(run.clock, run.plan.ranks))
        self.ending = RunEnding(run, NeededResults(run))
        self._progress = RunProgress(run.plan, run.ranks)

    @property
    def due(self) -> float | None:
        """When the next `Tick` is due; None for never."""
        is_limited = self.run.life.stage is RunStage.RUNNING
        walltime = self.batch.walltimes.due if is_limited else None
        times = (self.run.clock.deadline, walltime)
        return min((one for one in times if one is not None), default=None)

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Return what an event leads to; raises IllegalEvent, and then nothing has changed."""
        phase = self.run.life.phase
        if (phase, type(event)) not in TRANSITIONS:
            raise IllegalEvent(f"{type(event).__name__} cannot happen while {phase}")
        for one in (getattr(event, "rank", None), getattr(event, "by", None)):
            if one is not None and one not in self.run.ranks:
                raise IllegalEvent(f"{type(event).__name__} is about {one}, which is no rank")
        self.run.clock.now = now
        action = TRANSITIONS[phase, type(event)]
        if action is None or (isinstance(event, _OF_PLACES) and self._is_lost(event.cluster)):
            return []
        return list(action(self)(event) or ())

    def _is_lost(self, cluster: str) -> bool:
        return self.run.clusters[cluster].place is PlaceStage.LOST

    # --- up to the start of the application ---------------------------------------------------

    def _begin(self, _: events.Begin) -> Iterator[Effect]:
        self.run.life.advance(RunEvent.BEGUN)
        self.run.clock.allow(self.run.timeouts.start)
        yield from self._start_what_can()

    def _start_what_can(self) -> Iterator[Effect]:
        """Start every step whose dependencies are up."""
        plan = self.run.plan
        for name in self._progress.next_steps():
            if name == plan.start:
                yield from self._go()
                continue
            if name in plan.places:
                self.run.clusters[plan.places[name]].advance_place(PlaceEvent.OPENED)
            yield self._show(name, "starting")
            yield Start(name)
        if self._progress.have_all_ranks_begun:
            self.run.life.advance(RunEvent.RANKS_BEGUN)
        if self._progress.unable:
            yield from self._end_start()

    def _go(self) -> Iterator[Effect]:
        run, plan, limit = self.run, self.run.plan, self.run.timeouts.run
        run.life.advance(RunEvent.RELEASED)
        run.clock.deadline = run.clock.now + limit if limit else None
        self._progress.step_up(plan.start)
        run.assembly_runs = plan.has_assembly and not run.steered
        yield from self.batch.keep_places()
        yield from self.batch.walltimes.limit()
        yield Go()
        if not run.idle:
            for cluster in plan.ranks.keys() - self.run.late:
                run.clusters[cluster].advance_job(JobEvent.STARTED)
            for rank, path in plan.rank_paths.items():
                if not run.ranks[rank].is_over:
                    run.ranks[rank].advance(RankEvent.RELEASED)
                    yield Show(path, "running")
        for event in self.batch.lost_early:
            self.run.late.remove(event.cluster)
            yield from self._go_on_without(run.clusters[event.cluster], event.why, _NEVER_THERE)
        yield from self._end_if_all_ended()

    def _place_late(self, event: events.PlaceLate) -> Iterator[Effect]:
        """Begin without a cluster; so its steps are not waited for."""
        yield from self.batch.leave_out(event.cluster)
        self._progress.leave_out(self.run.late)
        yield from self._start_what_can()

    def _step_up(self, event: events.StepUp) -> Iterator[Effect]:
        self._progress.step_up(event.step)
        yield self._show(event.step, "up")
        yield from self._start_what_can()

    def _step_failed(self, event: events.StepFailed) -> Iterator[Effect]:
        """Give up a late cluster, or the start; what starts a code again is told why it failed."""
        cluster, starts = event.step.about, self.run.life.phase is not RunPhase.RUNNING
        is_lost = cluster in self.run.clusters and self._is_lost(cluster)
        if cluster in self.run.late:
            if not is_lost:
                lost = events.PlaceLost(cluster, event.why)
                yield from self._place_lost(lost, is_final=event.is_final)
        elif starts or not is_lost:
            yield self._show(event.step, "failed")
            if starts:
                yield from self._cannot_start(cluster, event.why)

    def _cannot_start(self, who: str, why: str) -> Iterator[Effect]:
        """End the start, but give others that are starting a moment to tell their own faults."""
        run, unable = self.run, self._progress.unable
        if who not in unable and why not in run.errors:  # the first one with its cause
            run.errors.append(why.splitlines()[0] if run.errors else why)
        unable.add(who)
        if run.outcome is None:
            run.outcome = NEVER_STARTED
            run.clock.allow(run.timeouts.others)
        yield from self._end_start()

    def _end_start(self) -> Iterator[Effect]:
        if not self._progress.are_others_starting:
            yield from self.ending.stop(self.run.errors[0])

    def _closed_early(self, event: events.PlaceClosed) -> Iterator[Effect]:
        """Take note of a front-end that goes because the start has failed, while others start."""
        if self._progress.unable:
            self._progress.unable.add(event.cluster)
            self.run.clusters[event.cluster].advance_place(PlaceEvent.CLOSED)
            yield from self._start_what_can()

    def _show(self, step: StepName, state: str) -> Show:
        return Show(self.run.plan.paths[step], state, str(step.kind))

    def _rank_here(self, event: events.RankHere) -> None:
        self.run.ranks[event.rank].advance(RankEvent.FOUND)

    def _rank_ready(self, event: events.RankReady) -> Iterator[Effect]:
        self.run.ranks[event.rank].advance(RankEvent.PREPARED)
        yield Show(self.run.plan.rank_paths[event.rank], "ready")

    def _too_early(self, event: RankDeath | events.JobEnded) -> Iterator[Effect]:
        """A rank or a job has ended before the application began."""
        names = self.run.plan.names
        if isinstance(event, RankDeath):
            yield Show(self.run.plan.rank_paths[event.rank], "failed", f"exit code {event.code}")
            cluster, name = event.rank.cluster, names.name(event.rank)
            what = f"{name} ended with code {event.code} before the application ran"
        else:
            cluster = event.cluster
            ended = f"{names.name(cluster)}: its MPI ended with code {event.code}"
            what = f"{ended} before all its ranks were ready"
        yield from self._cannot_start(cluster, event.why or what)

    def _late_start(self, _: events.Tick) -> Iterator[Effect]:
        if self.run.clock.is_over and self.run.outcome is not None:
            yield from self.ending.stop(self.run.errors[0])
        elif self.run.clock.is_over:
            waited = f"{self.run.timeouts.start:g} s"
            missing = self._progress.missing
            what = f"not everything was up within {waited}; still missing: {missing}"
            cure = "Look at the output above, or allow more time with --timeout"
            yield from self.ending.fail(f"{what}. {cure}", NEVER_STARTED)

    # --- while the application runs -----------------------------------------------------------

    def _rank_again(self, event: events.RankReady) -> Iterator[Effect]:
        """A code, or a rank in place of a lost one, was started, or started again."""
        self.run.ranks[event.rank].restart()
        self.run.clusters[event.rank.cluster].advance_job(JobEvent.STARTED)
        yield Show(self.run.plan.rank_paths[event.rank], "running")

    def _rank_died(self, death: RankDeath) -> Iterator[Effect]:
        run, goes_on = self.run, self.run.clusters[death.rank.cluster].goes_on
        if not run.steered:
            is_lost = bool(run.plan.replicas) or not death.is_stated or self._was_left_alone(death)
            run.failures.rank_died(death, goes_on=is_lost and goes_on)
        yield run.end_rank(death)
        if goes_on:
            yield run.announce(death)
            self._check_replicas(death.rank)
            yield from self._end_if_all_ended()
        else:
            if death.code and not death.is_stated:
                yield run.announce(death)
            self._let_others_end()

    def _was_left_alone(self, death: RankDeath) -> bool:
        """Tell whether a rank that was started later found nobody: all others had ended well."""
        late, clusters = self.run.late, self.run.clusters.items()
        there = (one for name, cluster in clusters if name not in late for one in cluster.ranks)
        is_later = self.run.ranks[death.rank].was_restarted and death.observed.is_loss
        return is_later and all(one.has_ended_well for one in there if not one.was_restarted)

    def _check_replicas(self, ended: RankName) -> None:
        """Give the others a while to end once a rank has lost all replicas, or each has a result.

        A replica that fails counts as lost, whatever the reason: its host may be to blame.
        """
        may_settle = self.run.life.stage in (RunStage.RUNNING, RunStage.OVERDUE)
        if not (self.run.plan.replicas and may_settle):
            return
        if self.ending.results.has_lost_all_of(ended):
            self.run.failures.blame_what_was_lost(ended)
            self._let_others_end()
        elif not self.ending.results.ranks_without() and self.ending.results.are_whole():
            self._settle("each rank has a result")

    def _aborted(self, _: events.Aborted) -> Iterator[Effect]:
        if not self.run.steered:
            self.run.failures.aborted()
            yield from self.ending.stop("a rank has called MPI.Abort")

    def _job_ended(self, event: events.JobEnded) -> Iterator[Effect]:
        run, cluster = self.run, self.run.clusters[event.cluster]
        cluster.advance_job(JobEvent.ENDED, f"it has ended with code {event.code}")
        is_unknown = not run.failures.has_failed_rank_of(event.cluster)
        if not (run.steered or event.by_request) and (event.is_fault or is_unknown):
            code = LOST if event.is_fault else event.code
            run.failures.other(event.cluster, code, event.why, goes_on=cluster.goes_on)
        word, detail = "done" if event.code == 0 else "failed", f"exit code {event.code}"
        if event.by_request:
            word, detail = "ended", "it was told to end"
        yield Show(run.plan.paths[StepName(StepKind.RANKS, event.cluster)], word, detail)
        if not cluster.goes_on:
            self._let_others_end()
        yield from self._end_if_all_ended()

    def _let_others_end(self) -> None:
        if self.run.failures.code:
            self._settle()

    def _settle(self, why: str = "") -> None:
        """Give all others a while to end by themselves."""
        if self.run.life.advance(RunEvent.FAILURE, why) and not self.run.is_only_output_left:
            self.run.clock.allow(self.run.timeouts.settle)

    def _output_follows(self, event: events.OutputFollows) -> Iterator[Effect]:
        self.run.clusters[event.cluster].advance_job(JobEvent.OUTPUT_LEFT)
        yield from self._end_if_all_ended()

    def _assembly_ended(self, event: events.AssemblyEnded) -> Iterator[Effect]:
        self.run.assembly_runs = False
        self.run.failures.other(THE_ASSEMBLY, event.code, event.why)
        self._let_others_end()
        yield from self._end_if_all_ended()

    def _end_if_all_ended(self) -> Iterator[Effect]:
        """End the run with its last job, or where a rank was lost with the last rank.

        There no job ends before, since another process may be started in place of a lost one.
        """
        run = self.run
        jobs_go_on = any(not one.is_kept for one in run.jobs)
        if not (jobs_go_on or run.assembly_runs or run.steered):
            yield from self.ending.stop("all has ended")
        elif run.is_only_output_left and run.life.stage in (RunStage.RUNNING, RunStage.SETTLING):
            run.clock.deadline = None

    def _tick(self, _: events.Tick) -> Iterator[Effect]:
        run = self.run
        if run.life.stage is RunStage.RUNNING:
            yield from self.batch.walltimes.take_signals()
            if over := self.batch.over():
                yield from self._walltime_over(over)
                return
        if not run.clock.is_over:
            return
        if run.life.is_settling:
            left = self._left() or THE_ASSEMBLY
            run.failures.stopped = f"{left} did not end within {run.timeouts.settle:g} s"
            yield from self.ending.stop(run.failures.stopped)
        elif run.life.advance(RunEvent.TIME_OVER):
            run.clock.allow(run.timeouts.explain)
            yield Explain()
        else:
            yield from self._explained(events.Explained())

    def _walltime_over(self, over: events.PlaceLost) -> Iterator[Effect]:
        """End the run, or give up a job that is about to end, and ask for another one.

        Where nothing else runs nobody is there who would go on with the ranks of another job.
        """
        others = (one for one in self.run.jobs if one.identifier != over.cluster)
        if self.batch.may_ask(over.cluster) and any(not one.is_kept for one in others):
            yield from self._place_lost(over)
            return
        cure = "Ask for more walltime, or let the program save its state before that"
        why = f"{over.why}, so the run was ended. {cure}{self.batch.before(over.cluster)}"
        yield from self.ending.fail(why, WALLTIME_OVER)

    def _left(self) -> str:
        """Return whose ranks have not ended, an empty string where none are left."""
        left = sorted(one.identifier for one in self.run.jobs if not one.has_output)
        few = len(left) <= MOST_NAMES
        where = self.run.plan.names.names(left) if few else f"{len(left)} clusters"
        return f"the other ranks of {where}" if left else ""

    def _explained(self, _: events.Explained) -> Iterator[Effect]:
        """End the run after its time, or somebody's patience: ranks have told what they do."""
        if self.run.life.stage is RunStage.INTERRUPTED:
            yield from self.ending.stop()
            return
        ran = f"the application ran for more than {self.run.timeouts.run:g} s"
        yield from self.ending.fail(f"{ran}, so it was ended", TIMED_OUT)

    def _left_behind(self, event: events.LeftBehind) -> Iterator[Effect]:
        """End a run that cannot go on: native MPI would let the ranks wait for ever."""
        run = self.run
        if run.life.is_settling and event.are_all and run.failures.code:
            run.failures.stopped = f"{self._left()} waited for ranks that had ended"
            yield from self.ending.stop(run.failures.stopped)
            return
        goes_on = run.steered or run.plan.survivors  # calls raise errors there
        if not goes_on and run.life.stage is RunStage.RUNNING:
            why = event.why.replace("\n", "\n    ")
            yield from self.ending.fail(f"{event.what}:\n    {why}", LOST)

    def _stuck(self, event: events.Stuck) -> Iterator[Effect]:
        """Show that ranks run and yet will never do anything more."""
        for rank in event.ranks:
            if self.run.ranks[rank].death is None:
                yield Show(self.run.plan.rank_paths[rank], "stuck")

    def _suspected(self, event: events.Suspected) -> Iterator[Effect]:
        yield from decided(event, self.run.ranks, self.run.clusters, is_steered=self.run.steered)

    # --- what is lost -------------------------------------------------------------------------

    def _place_lost(self, event: events.PlaceLost, *, is_final: bool = False) -> Iterator[Effect]:
        cluster, is_late = self.run.clusters[event.cluster], event.cluster in self.run.late
        cluster.advance_place(PlaceEvent.LOST, event.why)
        cluster.advance_job(JobEvent.ENDED, "it was lost with its front-end")
        is_awaited = self._is_awaited(cluster)
        if is_awaited and self.batch.may_ask(event.cluster) and not is_final:
            if not is_late:
                yield from self._go_on_without(cluster, event.why, _WITH_FRONT_END)
            yield from self.batch.ask_again(event)
            return
        yield from self.batch.lose(event)
        runs = self.run.life.phase is RunPhase.RUNNING
        if is_late and not runs:
            self.batch.lost_early.append(event)
            return
        self.run.late.discard(event.cluster)
        if runs and cluster.goes_on and not is_awaited:
            how = _NEVER_THERE if is_late else _WITH_FRONT_END
            yield from self._go_on_without(cluster, event.why, how)
        else:
            yield from self._lost(event.cluster, event.why + self.batch.before(event.cluster))

    def _is_awaited(self, cluster: ClusterLife) -> bool:
        """Tell whether ranks that run need those of a lost cluster that asks for other jobs."""
        runs = self.run.life.stage is RunStage.RUNNING
        runs &= any(not one.is_kept for one in self.run.jobs)
        asks = self.run.plan.again.get(cluster.identifier, 0) > 0
        return asks and runs and not all(one.has_ended_well for one in cluster.ranks)

    def _go_on_without(self, cluster: ClusterLife, why: str, how: str) -> Iterator[Effect]:
        """Let the others know that a front-end has gone, and how with it all of its ranks."""
        self.run.failures.other(cluster.identifier, LOST, why, goes_on=True)
        yield from self.batch.walltimes.forget(cluster.identifier)
        for one in cluster.ranks:
            if one.death is None:
                death = RankDeath.lost(one.rank, how)
                one.die(death, is_kept=True)
                yield self.run.announce(death)
                self._check_replicas(one.rank)
        self.ending.results.lose(cluster.identifier)
        yield from self._end_if_all_ended()

    def _node_lost(self, event: events.NodeLost) -> Iterator[Effect]:
        yield Show(self.run.plan.paths[event.step], "lost")
        if not event.goes_on:
            yield from self._lost(str(event.step), event.why)

    def _parent_killed(self, event: events.ParentKilled) -> Iterator[Effect]:
        """Blame what took the front-ends of this machine along, whatever they have told of it."""
        goes_on = bool(self.run.plan.survivors)  # each front-end is told to be lost as well
        if self.run.outcome is None:
            who = "the front-ends of this machine"
            self.run.failures.common_cause(who, LOST, event.why, goes_on=goes_on)
        if not goes_on and self.run.life.phase is RunPhase.RUNNING:
            yield from self.ending.stop(event.why)

    def _lost(self, what: str, why: str) -> Iterator[Effect]:
        """End the run, since a part of the machine has gone without being asked."""
        if self.run.life.phase is RunPhase.RUNNING:
            self.run.failures.place_lost(what, LOST, why)
            yield from self.ending.stop(f"{what} is lost")
        elif what in self.run.clusters:
            yield from self._cannot_start(what, why)
        else:
            yield from self.ending.fail(why, NEVER_STARTED)


_WITH_FRONT_END = "was lost with its front-end"
_NEVER_THERE = "will never come, its cluster was given up"
_OF_PLACES = (events.PlaceQueued, events.PlaceGranted, events.PlaceLost, events.PlaceClosed)
"""What may be under way when a front-end is lost, and then changes nothing any more."""
_Action = Callable[[RunState], Callable[..., Iterable[Effect] | None]]
_S = RunPhase
_BEFORE = (_S.STARTING, _S.HANDSHAKING)
_STARTED = (_S.RUNNING, _S.ENDING)
_E = events
_TABLE: tuple[tuple[tuple[RunPhase, ...], tuple[type, ...], _Action | None], ...] = (
    ((_S.PLANNED,), (_E.Begin,), lambda state: state._begin),
    ((_S.PLANNED,), (_E.Interrupt, _E.Halt), lambda state: state.ending.interrupt_before),
    ((*_BEFORE, *_STARTED), (_E.Interrupt,), lambda state: state.ending.interrupt),
    ((*_BEFORE, *_STARTED), (_E.Halt,), lambda state: state.ending.halt),
    (_BEFORE, (_E.StepUp,), lambda state: state._step_up),
    ((*_BEFORE, _S.RUNNING), (_E.StepFailed,), lambda state: state._step_failed),
    (_BEFORE, (_E.RankHere,), lambda state: state._rank_here),
    (_BEFORE, (_E.RankReady,), lambda state: state._rank_ready),
    (_BEFORE, (RankDeath, _E.JobEnded), lambda state: state._too_early),
    (_BEFORE, (_E.Tick,), lambda state: state._late_start),
    (_BEFORE, (_E.OutputFollows, _E.OutputPassedOn, _E.ParentKilled), None),
    (_BEFORE, (_E.PlaceClosed,), lambda state: state._closed_early),
    ((*_BEFORE, _S.RUNNING), (_E.PlaceQueued,), lambda state: state.batch.wait_for),
    ((*_BEFORE, _S.RUNNING), (_E.PlaceGranted,), lambda state: state.batch.grant),
    (_BEFORE, (_E.PlaceLate,), lambda state: state._place_late),
    ((_S.ENDING,), (_E.PlaceQueued, _E.PlaceLate, _E.PlaceGranted), None),
    ((*_BEFORE, _S.RUNNING), (_E.PlaceLost,), lambda state: state._place_lost),
    ((*_BEFORE, _S.RUNNING), (_E.NodeLost,), lambda state: state._node_lost),
    ((_S.RUNNING,), (_E.StepUp,), lambda state: state.batch.step_up),
    ((_S.RUNNING,), (_E.RankHere, _E.OutputPassedOn, _E.PlaceClosed, _E.PlaceLate), None),
    ((_S.RUNNING,), (_E.RankReady,), lambda state: state._rank_again),
    ((_S.RUNNING,), (RankDeath,), lambda state: state._rank_died),
    ((_S.RUNNING,), (_E.Aborted,), lambda state: state._aborted),
    ((_S.RUNNING,), (_E.JobEnded,), lambda state: state._job_ended),
    ((_S.RUNNING,), (_E.OutputFollows,), lambda state: state._output_follows),
    ((_S.RUNNING,), (_E.AssemblyEnded,), lambda state: state._assembly_ended),
    ((_S.RUNNING,), (_E.Tick,), lambda state: state._tick),
    ((_S.RUNNING,), (_E.Explained,), lambda state: state._explained),
    ((_S.RUNNING,), (_E.LeftBehind,), lambda state: state._left_behind),
    ((_S.RUNNING,), (_E.Stuck,), lambda state: state._stuck),
    ((_S.RUNNING,), (_E.Suspected,), lambda state: state._suspected),
    (_STARTED, (_E.ParentKilled,), lambda state: state._parent_killed),
    ((_S.ENDING,), (_E.StepUp, _E.StepFailed), lambda state: state.ending.closing_step_done),
    ((_S.ENDING,), (RankDeath,), lambda state: state.ending.rank_died),
    ((_S.ENDING,), (_E.JobEnded,), lambda state: state.ending.job_ended),
    ((_S.ENDING,), (_E.AssemblyEnded,), lambda state: state.ending.assembly_ended),
    ((_S.ENDING,), (_E.OutputFollows,), lambda state: state.ending.output_follows),
    ((_S.ENDING,), (_E.OutputPassedOn,), lambda state: state.ending.output_taken),
    ((_S.ENDING,), (_E.Tick,), lambda state: state.ending.overdue),
    ((_S.ENDING,), (_E.PlaceLost, _E.PlaceClosed), lambda state: state.ending.place_closed),
    ((_S.ENDING,), (_E.RankHere, _E.RankReady, _E.Aborted, _E.NodeLost), None),
    ((_S.ENDING,), (_E.Explained, _E.LeftBehind, _E.Stuck, _E.Suspected), None),
)
TRANSITIONS: dict[tuple[RunPhase, type], _Action | None] = {
    (state, event): action
    for states, happens, action in _TABLE
    for state in states
    for event in happens
}
"""Which action each event leads to in each state, None for none; other pairs cannot happen."""
