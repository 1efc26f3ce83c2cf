"""The end of a run: who ends it and how, what output and results are awaited, the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gcm.records import dataclass
from runtime.exit_codes import INTERRUPTED, LOST, OUTPUT_FAILED
from runtime.lifecycle import events
from runtime.lifecycle.cluster_life import ClusterLife, JobEvent, PlaceEvent, ResultsEvent
from runtime.lifecycle.events import Effect, Explain, Finish, GiveUp, Kill, Show, Stop
from runtime.lifecycle.failures import THE_ASSEMBLY
from runtime.lifecycle.replica_results import NeededResults
from runtime.lifecycle.run_life import RunEvent, RunPhase, RunStage
from runtime.lifecycle.run_parts import RunParts
from runtime.machine.deaths import RankDeath


@dataclass(slots=True)
class RunEnding:
    """Brings a run to its end: that is there once all front-ends have gone and results are home.

    The exit code is that of what failed first, unless the run has another `outcome`.
    """

    run: RunParts
    results: NeededResults
    _interrupts: int = 0
    """How often somebody has pressed Ctrl-C."""

    def fail(self, why: str, code: int) -> Iterator[Effect]:
        """End the run with an exit code that no failure of a part decides."""
        self.run.errors.append(why)
        self.run.outcome = code
        yield from self.stop(why)

    def halt(self, _: events.Halt) -> Iterator[Effect]:
        """End the run because the program that holds the machine wants it."""
        if self.run.life.phase is RunPhase.ENDING:
            return
        if not (self.run.life.phase is RunPhase.RUNNING and self.run.steered and not self.run.jobs):
            self.run.outcome = self.run.failures.code
        self.run.life.advance(RunEvent.HALTED)
        yield from self.stop()

    def interrupt(self, _: events.Interrupt) -> Iterator[Effect]:
        """End the run in order, after a short look at what its ranks wait for; then at once."""
        self._interrupts += 1
        life, is_first = self.run.life, self._interrupts == 1
        if life.phase is not RunPhase.ENDING:
            self.run.outcome = INTERRUPTED
            runs = self.run.jobs and not self.run.is_only_output_left
            if is_first and runs and life.advance(RunEvent.CTRL_C):
                self.run.clock.allow(self.run.timeouts.glance)
                yield Explain(is_brief=True)
                return
            life.advance(RunEvent.HALTED, RunEvent.CTRL_C)
            yield from self.stop()
            if is_first:
                return
        if self.run.places:
            yield from self._kill()
        if self._interrupts == 2:
            yield GiveUp()

    def interrupt_before(self, _: events.Interrupt | events.Halt) -> Iterator[Effect]:
        """End a run that has not begun."""
        self.run.life.advance(RunEvent.ENDED_BADLY)
        yield Finish(INTERRUPTED)

    def stop(self, why: str = "") -> Iterator[Effect]:
        """Let everything end in order."""
        self.run.life.advance(RunEvent.STOPPED, why)
        self.run.clock.allow(self.run.timeouts.grace)
        self._await_reader()
        yield Stop()
        yield from self._finish_if_closed()

    # --- what happens once it was stopped -----------------------------------------------------

    def rank_died(self, death: RankDeath) -> Iterator[Effect]:
        """Record the death of a rank, which may be why the run had to be stopped.

        That of a replica is not, once each rank has a result: it was behind, or started too late.
        """
        failures = self.run.failures
        if self.run.life.stage is not RunStage.KILLED:
            death = failures.seen_late(death)
        is_wanted = failures.has_rank_failed(death.rank) or not failures.is_explained
        is_wanted &= not self.run.plan.replicas or bool(self.results.ranks_without())
        if self.run.outcome is None and not self.run.steered:
            (failures.rank_died if is_wanted else failures.late_rank_died)(death)
        yield self.run.end_rank(death)

    def job_ended(self, event: events.JobEnded) -> None:
        """Record a fault of native MPI itself."""
        if self.run.outcome is None and event.is_fault and not self.run.steered:
            self.run.failures.other(event.cluster, LOST, event.why)

    def assembly_ended(self, event: events.AssemblyEnded) -> None:
        """Record that the assembly failed while it was ended; what ended the run comes first."""
        is_first = not self.run.errors and self.run.failures.first is None
        if event.why and is_first and self.run.outcome is None:
            self.run.failures.other(THE_ASSEMBLY, event.code, event.why)

    def output_follows(self, event: events.OutputFollows) -> None:
        """Wait for whoever reads the output of a cluster."""
        self.run.clusters[event.cluster].advance_job(JobEvent.OUTPUT_LEFT)
        self._await_reader()

    def output_taken(self, event: events.OutputPassedOn) -> None:
        """Wait no longer for that."""
        cluster = self.run.clusters[event.cluster]
        if cluster.has_output and self.run.life.stage is not RunStage.KILLED:
            self.run.clock.allow(self.run.timeouts.grace)
        cluster.advance_job(JobEvent.OUTPUT_TAKEN)

    def place_closed(self, event: events.PlaceClosed | events.PlaceLost) -> Iterator[Effect]:
        """Record that a front-end has gone, in order or not."""
        cluster, plan = self.run.clusters[event.cluster], self.run.plan
        is_lost = isinstance(event, events.PlaceLost)
        cluster.advance_place(PlaceEvent.LOST if is_lost else PlaceEvent.CLOSED)
        failures, name = self.run.failures, event.cluster
        if isinstance(event, events.PlaceLost) and (
            failures.has_failed(name) or failures.has_rank_taken_along(name)
        ):
            failures.place_lost(name, LOST, event.why)
        why = ""
        if event.cluster in self.run.late:
            why = f"its job was cancelled; not there at the end: {plan.ranks_of(event.cluster)}"
        yield Show(plan.path_of(event.cluster), "ended", why)
        self._lose_output([cluster])
        cluster.advance_job(JobEvent.OUTPUT_TAKEN)
        self._await_reader()
        yield from self._finish_if_closed()

    def closing_step_done(self, event: events.StepUp | events.StepFailed) -> Iterator[Effect]:
        """Record that results are home, or will not come; opening steps change nothing any more."""
        name = self.run.plan.closing.get(event.step, "")
        cluster = self.run.clusters.get(name)
        if cluster is None or not cluster.advance_results(ResultsEvent.SETTLED):
            return
        if isinstance(event, events.StepFailed):
            if self.results.are_elsewhere(name):
                self.results.lose(name)
            else:
                self._spoil(str(event.step), event.why)
        yield from self._finish_if_closed()

    def overdue(self, _: events.Tick) -> Iterator[Effect]:
        """Kill what has not ended in time."""
        if self.run.clock.is_over:
            yield from self._kill()

    def _kill(self) -> Iterator[Effect]:
        if self.run.life.advance(RunEvent.KILLED):
            self._lose_output(self.run.places)
            self.run.clock.deadline = None
            yield Kill()

    def _await_reader(self) -> None:
        """Wait where nothing but unread output is left, unless the end is wanted now."""
        left = self.run.places
        is_patient = self.run.life.stage is RunStage.ENDING
        if left and is_patient and all(one.has_output for one in left):
            self.run.clock.allow(self.run.timeouts.output)

    def _lose_output(self, clusters: Iterable[ClusterLife]) -> None:
        """Take note of front-ends that end before all of their output has been taken."""
        for one in sorted(clusters, key=lambda one: one.identifier):
            if one.has_output:
                path = self.run.plan.path_of(one.identifier)
                why = f"the rest of the output of {path} is lost: nobody had read it by the end"
                self._spoil(f"output:{one.identifier}", why)

    def _spoil(self, what: str, why: str) -> None:
        """Take note that something the application made is lost, which spoils a good run."""
        self.run.failures.other(what, OUTPUT_FAILED, why)
        if self.run.outcome == 0:
            self.run.outcome = OUTPUT_FAILED

    def _finish_if_closed(self) -> Iterator[Effect]:
        yield from self.results.next_steps()
        if self.run.places:
            return
        self.run.clock.deadline = None
        if self.results.are_moving:
            return
        failures = self.run.failures
        if self._was_not_survived():
            failures.blame_what_was_lost()
        code = failures.code if self.run.outcome is None else self.run.outcome
        end = RunEvent.ENDED_BADLY if code else RunEvent.ENDED_WELL
        self.run.life.advance(end, f"all has ended, code {code}")
        yield Finish(code)

    def _was_not_survived(self) -> bool:
        """Tell whether what was lost keeps the run from being a good one."""
        if self.run.plan.replicas:
            return bool(self.results.ranks_without())
        failures, deaths = self.run.failures, self.run.deaths.values()
        if failures.has_failed_rank:
            return failures.was_not_survived
        return all(one.code for one in deaths)
