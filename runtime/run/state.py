"""The state of a run as a pure machine: events in, effects out, time handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from enum import StrEnum

from gcm.records import dataclass
from runtime.exit_codes import INTERRUPTED, LOST, NEVER_STARTED, OUTPUT_FAILED, TIMED_OUT
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName
from runtime.run.events import (
    Aborted,
    Announce,
    AssemblyEnded,
    Begin,
    Condemn,
    CondemnRank,
    Discard,
    Effect,
    Event,
    Explain,
    Explained,
    Finish,
    GiveUp,
    Go,
    Halt,
    Interrupt,
    JobEnded,
    Kill,
    LeftBehind,
    NodeLost,
    OutputFollows,
    OutputPassedOn,
    ParentKilled,
    PlaceClosed,
    PlaceLost,
    RankHere,
    RankReady,
    Show,
    Start,
    StepFailed,
    StepUp,
    Stop,
    Stuck,
    Suspected,
    TellUnreachable,
    Tick,
)
from runtime.run.failures import Failures
from runtime.run.outline import Outline
from runtime.run.progress import RunProgress


class RunPhase(StrEnum):
    """Where a run is between nothing and nothing."""

    PLANNED = "planned"
    STARTING = "starting"
    HANDSHAKING = "handshaking"
    RUNNING = "running"
    ENDING = "ending"
    DONE = "done"
    FAILED = "failed"


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

    outline: Outline
    timeouts: RunTimeouts = field(default_factory=RunTimeouts)
    steered: bool = False
    idle: bool = False
    state: RunPhase = RunPhase.PLANNED
    deadline: float | None = None
    errors: list[str] = field(default_factory=list)
    deaths: dict[str, RankDeath] = field(default_factory=dict)
    """How every rank has died that has ended and was not told to."""
    failures: Failures = field(default_factory=Failures)
    """What failed while the application ran."""
    _progress: RunProgress = field(init=False)
    _jobs: set[str] = field(default_factory=set)
    _ended: set[str] = field(default_factory=set)
    _restarted: set[str] = field(default_factory=set)
    """The ranks that have ended, and were not started again since."""
    _held: set[str] = field(default_factory=set)
    """Clusters whose job goes on for ranks that may be started again in place of lost ones."""
    _draining: set[str] = field(default_factory=set)
    """Clusters of which nothing but output is awaited."""
    _assembly_runs: bool = False
    _open: set[str] = field(default_factory=set)
    _gone: set[str] = field(default_factory=set)
    """Clusters whose front-end was lost, and with it what they have made."""
    _fetched: set[str] = field(default_factory=set)
    """Which results are being brought home, or were."""
    _fetching: set[str] = field(default_factory=set)
    _outcome: int | None = None
    _killed: bool = False
    _stopping: bool = False
    _interrupts: int = 0
    _settling: bool = False
    _timed_out: bool = False
    _halted: bool = False
    _now: float = 0.0
    _told: dict[str, RankDeath] = field(default_factory=dict)
    """The deaths that other ranks were told of."""
    _condemned: set[str] = field(default_factory=set)
    """The clusters and ranks that are to end because others cannot reach them."""

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self._progress = RunProgress(self.outline)

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Return what an event leads to; raises IllegalEvent, and then nothing has changed."""
        action = TRANSITIONS.get((self.state, type(event)))
        if action is None:
            raise IllegalEvent(f"{type(event).__name__} cannot happen while {self.state}")
        self._now = now
        return list(action(self, event))

    @property
    def codes(self) -> dict[str, int]:
        """The exit code of every rank that has ended and was not told to."""
        return {rank: death.code for rank, death in self.deaths.items()}

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what has been started but is not up yet; see `Progress.missing`."""
        return self._progress.missing

    # --- up to the start of the application ---------------------------------------------------

    def _begin(self, _: Begin) -> Iterable[Effect]:
        self.state = RunPhase.STARTING
        self.deadline = self._now + self.timeouts.start
        yield from self._start_what_can()

    def _start_what_can(self) -> Iterable[Effect]:
        """Start every step whose dependencies are up."""
        for name in self._progress.next_steps():
            if name == self.outline.start:
                yield from self._go()
                continue
            if name in self.outline.places:
                self._open.add(self.outline.places[name])
            yield Show(self.outline.paths[name], "starting", name.partition(":")[0])
            yield Start(name)
        if self.state is RunPhase.STARTING and self._progress.have_all_ranks_begun:
            self.state = RunPhase.HANDSHAKING

    def _go(self) -> Iterable[Effect]:
        self.state = RunPhase.RUNNING
        self.deadline = self._now + self.timeouts.run if self.timeouts.run else None
        self._progress.step_up(self.outline.start)
        self._jobs = set() if self.idle else set(self.outline.ranks)
        self._assembly_runs = self.outline.has_assembly and not self.steered
        yield Go()
        for path in () if self.idle else self.outline.rank_paths.values():
            yield Show(path, "running")
        yield from self._end_if_all_ended()

    def _step_up(self, event: StepUp) -> Iterable[Effect]:
        self._progress.step_up(event.step)
        yield Show(self.outline.paths[event.step], "up", event.step.partition(":")[0])
        yield from self._start_what_can()

    def _step_failed(self, event: StepFailed) -> Iterable[Effect]:
        yield Show(self.outline.paths[event.step], "failed", event.step.partition(":")[0])
        yield from self._fail(event.why, NEVER_STARTED)

    def _rank_here(self, event: RankHere) -> Iterable[Effect]:
        self._progress.rank_here(event.rank)
        return ()

    def _rank_ready(self, event: RankReady) -> Iterable[Effect]:
        self._progress.rank_ready(event.rank)
        yield Show(self.outline.rank_paths[event.rank], "ready")

    def _too_early(self, event: RankDeath | JobEnded) -> Iterable[Effect]:
        """A rank or a job has ended before the application began."""
        if isinstance(event, RankDeath):
            yield Show(self.outline.rank_paths[event.who], "failed", f"exit code {event.code}")
            name = self.outline.names.name(event.who)
            what = f"{name} ended with code {event.code} before the application ran"
        else:
            ended = f"{event.cluster}: its MPI ended with code {event.code}"
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
        cluster = ":".join(part.split(":")[:2])
        if self.state is not RunPhase.RUNNING:
            return _LIVES[self.state]
        if cluster in self._gone:
            return "terminated"
        is_rank = part.count(":") == 2
        if is_rank and (cluster not in self._jobs or part in self._ended or part in self.deaths):
            return "stopped"
        return "started"

    # --- while the application runs -----------------------------------------------------------

    def _rank_again(self, event: RankReady) -> Iterable[Effect]:
        """A code, or a rank in place of a lost one, was started, or started again."""
        self._ended.discard(event.rank)
        self._restarted.add(event.rank)
        self._jobs.add(RankName.parse(event.rank).cluster)
        self._draining.discard(RankName.parse(event.rank).cluster)
        self.deaths.pop(event.rank, None)
        self._told.pop(event.rank, None)
        self._condemned.discard(event.rank)
        yield Show(self.outline.rank_paths[event.rank], "running")

    def _not_again(self, event: StepFailed) -> Iterable[Effect]:
        """A code could not be started; the one who wanted that is told why."""
        yield Show(self.outline.paths[event.step], "failed", event.step.partition(":")[0])

    def _rank_died(self, death: RankDeath) -> Iterable[Effect]:
        goes_on = death.rank.cluster in self.outline.survivors
        if not self.steered:
            is_lost = goes_on and (bool(self.outline.replicas) or not death.is_said)
            self.failures.rank_died(death, goes_on=is_lost)
        yield from self._show_end(death)
        if goes_on:
            yield self._announce(death)
            self._ended.add(death.who)
            self._look_after_replicas(death.who)
            yield from self._end_if_none_is_left(death)
        else:
            if death.code and not death.is_said:
                yield self._announce(death)
            self._let_others_end()

    def _look_after_replicas(self, ended: str) -> None:
        """Give the others a while to end once a rank has lost all replicas, or each has a result.

        A replica that fails counts as lost, whatever the reason: its host may be to blame.
        """
        replicas = self.outline.replicas
        if not replicas or self._settling or self._interrupts:
            return
        rank = replicas[ended]
        deaths = [self.deaths.get(one) for one, of in replicas.items() if of == rank]
        if all(one is not None and one.code for one in deaths):
            self.failures.blame_what_was_lost()
            self._let_others_end()
        elif not self._ranks_without_result() and self._are_results_whole():
            self._settle()

    def _are_results_whole(self) -> bool:
        """Tell whether nobody writes any more where results are to come from."""
        writing = self._clusters_of_results()
        ended = self._ended | self.deaths.keys()
        return all(ended.issuperset(self.outline.ranks[cluster]) for cluster in writing)

    def _lose_results(self, cluster: str) -> None:
        """What replicas of a cluster have made is gone with it: others are needed again."""
        makes = any(step.partition(":")[2] == cluster for step in self.outline.closing)
        if not (self.outline.replicas and makes):
            return
        for rank in filter(self._has_ended_well, self.outline.ranks[cluster]):
            self.deaths[rank] = RankDeath.lost(rank, "what it made was lost with its front-end")
        if self._settling and not self.failures.code and self._ranks_without_result():
            self._settling, self.deadline = False, None

    def _ranks_without_result(self) -> set[int]:
        """Return the ranks of which no replica has ended well."""
        replicas = self.outline.replicas
        done = {of for one, of in replicas.items() if self._has_ended_well(one)}
        return set(replicas.values()) - done

    def _has_ended_well(self, rank: str) -> bool:
        return rank in self.deaths and self.deaths[rank].code == 0

    def _end_if_none_is_left(self, death: RankDeath) -> Iterable[Effect]:
        """End the run with the last rank: where one was lost no job ends before."""
        if death.code:
            self._held.add(death.rank.cluster)
        yield from self._end_if_all_ended()

    def _has_ended(self, cluster: str) -> bool:
        return cluster in self._held and self._ended.issuperset(self.outline.ranks[cluster])

    def _show_end(self, death: RankDeath) -> Iterable[Effect]:
        """Keep the death of a rank, unless others had ended it, and show it."""
        path = self.outline.rank_paths[death.who]
        if death.after and not self.steered:
            self.deaths.pop(death.who, None)
            yield Show(path, "ended", death.ending)
            return
        self.deaths[death.who] = death
        failed = "ended" if death.observed.is_loss else "failed"
        yield Show(path, failed if death.code else "done", death.ending)

    def _aborted(self, _: Aborted) -> Iterable[Effect]:
        if not self.steered:
            yield from self._stop()

    def _job_ended(self, event: JobEnded) -> Iterable[Effect]:
        self._jobs.discard(event.cluster)
        self._draining.discard(event.cluster)
        is_unknown = not self.failures.knows_rank_of(event.cluster)
        goes_on = event.cluster in self.outline.survivors
        if not self.steered and (event.is_fault or is_unknown):
            code = LOST if event.is_fault else event.code
            self.failures.other(event.cluster, code, event.why, goes_on=goes_on)
        word = "done" if event.code == 0 else "failed"
        yield Show(self.outline.paths[f"ranks:{event.cluster}"], word, f"exit code {event.code}")
        if not goes_on:
            self._let_others_end()
        yield from self._end_if_all_ended()

    def _let_others_end(self) -> None:
        """Give all others a while to end by themselves once something has failed."""
        if self.failures.code and not self._settling and not self._interrupts:
            self._settle()

    def _settle(self) -> None:
        self._settling = True
        if not self._is_only_output_left:
            self.deadline = self._now + self.timeouts.settle

    def _output_follows(self, event: OutputFollows) -> Iterable[Effect]:
        self._draining.add(event.cluster)
        yield from self._end_if_all_ended()

    @property
    def _is_only_output_left(self) -> bool:
        """Whether nothing runs any more; then whoever reads the output sets the pace."""
        is_over = all(one in self._draining or self._has_ended(one) for one in self._jobs)
        return is_over and not (self._assembly_runs or self.steered)

    def _assembly_ended(self, event: AssemblyEnded) -> Iterable[Effect]:
        self._assembly_runs = False
        self.failures.other("the assembly", event.code, event.why)
        self._let_others_end()
        yield from self._end_if_all_ended()

    def _end_if_all_ended(self) -> Iterable[Effect]:
        jobs_go_on = any(not self._has_ended(one) for one in self._jobs)
        if jobs_go_on or self._assembly_runs or (self.steered and not self._halted):
            if self._is_only_output_left and not (self._interrupts or self._timed_out):
                self.deadline = None
            return
        yield from self._stop()

    def _settled(self, _: Tick) -> Iterable[Effect]:
        if self.deadline is None or self._now < self.deadline:
            return
        if not self._settling:
            yield from self._time_is_over()
        else:
            left = ", ".join(sorted(self._jobs - self._draining)) or "the assembly"
            self.failures.stopped = f"{left} did not end within {self.timeouts.settle:g} s"
            yield from self._stop()

    def _time_is_over(self) -> Iterable[Effect]:
        """Let it be told what the ranks are doing, then end the run, told or not."""
        if self._timed_out or self._interrupts:
            yield from self._explained(Explained())
            return
        self._timed_out = True
        self.deadline = self._now + self.timeouts.explain
        yield Explain()

    def _explained(self, _: Explained) -> Iterable[Effect]:
        if self._interrupts:
            yield from self._stop()
            return
        why = f"the application ran for more than {self.timeouts.run:g} s, so it was ended"
        yield from self._fail(why, TIMED_OUT)

    def _left_behind(self, event: LeftBehind) -> Iterable[Effect]:
        """End a run that cannot go on: native MPI would let the ranks wait for ever."""
        if self._settling and event.are_all and self.failures.code:
            left = ", ".join(sorted(self._jobs - self._draining))
            self.failures.stopped = f"{left} waited for ranks that had ended"
            yield from self._stop()
            return
        goes_on = self.steered or self.outline.survivors  # calls raise errors there
        is_ending = self._settling or self._interrupts or self._timed_out or self._stopping
        if not (goes_on or is_ending):
            what = "ranks wait for others that have ended, and would wait for ever"
            yield from self._fail(f"{what}:\n    " + event.why.replace("\n", "\n    "), LOST)

    def _stuck(self, event: Stuck) -> Iterable[Effect]:
        """Show that ranks run and yet will never do anything more."""
        for rank in event.ranks:
            if rank not in self.deaths:
                yield Show(self.outline.rank_paths[rank], "stuck")

    def _place_lost(self, event: PlaceLost) -> Iterable[Effect]:
        self._open.discard(event.cluster)
        self._gone.add(event.cluster)
        self._jobs.discard(event.cluster)
        yield Show(self.outline.paths[f"front-end:{event.cluster}"], "lost")
        if self.state is RunPhase.RUNNING and event.cluster in self.outline.survivors:
            yield from self._go_on_without(event)
        else:
            yield from self._lost(event.cluster, event.why)

    def _go_on_without(self, event: PlaceLost) -> Iterable[Effect]:
        """Let the others know that a front-end has gone, which its ranks do not outlive."""
        self.failures.other(event.cluster, LOST, event.why, goes_on=True)
        for rank in self.outline.ranks[event.cluster]:
            if rank not in self.deaths:
                self.deaths[rank] = RankDeath.lost(rank, "was lost with its front-end")
                yield self._announce(self.deaths[rank])
                self._look_after_replicas(rank)
            self._ended.add(rank)
        self._lose_results(event.cluster)
        yield from self._end_if_all_ended()

    def _announce(self, death: RankDeath) -> Announce:
        self._told[death.who] = death
        return Announce(death)

    def _suspected(self, event: Suspected) -> Iterable[Effect]:
        """Decide for all who is lost of two ranks that live and cannot reach each other.

        Of one cluster it is one of them. Else it is one's whole cluster, since both cannot go on:
        that with fewer ranks, or the later one. What others say of who is to end already is no
        reason to end another one. Where nobody goes on without others it is their affair.
        """
        clusters = {RankName.parse(one).cluster for one in (event.by, event.rank)}
        if event.rank in self._told:
            yield Announce(self._told[event.rank], is_new=False)
        elif not clusters & self.outline.survivors:
            yield TellUnreachable(event.by, event.rank, event.why)
        elif len(clusters) == 1:
            known = self._condemned | self._told.keys()
            if known.isdisjoint((event.by, event.rank, *clusters)):
                self._condemned.add(event.blamed)
                yield CondemnRank(event.blamed, event.why)
        elif event.by not in self._told and clusters <= self.outline.survivors - self._condemned:
            order = list(self.outline.ranks)
            chosen = min(clusters, key=lambda one: (self._living(one), -order.index(one)))
            self._condemned.add(chosen)
            yield Condemn(chosen, event.why)

    def _living(self, cluster: str) -> int:
        return sum(rank not in self._told for rank in self.outline.ranks[cluster])

    def _node_lost(self, event: NodeLost) -> Iterable[Effect]:
        yield Show(self.outline.paths[event.step], "lost")
        yield from self._lost(event.step, event.why)

    def _parent_killed(self, event: ParentKilled) -> Iterable[Effect]:
        """Blame what took the front-ends of this machine along, whatever they have told of it."""
        goes_on = bool(self.outline.survivors)  # each front-end is told to be lost as well
        if self._outcome is None:
            who = "the front-ends of this machine"
            self.failures.common_cause(who, LOST, event.why, goes_on=goes_on)
        if not (self._stopping or goes_on):
            yield from self._stop()

    def _lost(self, what: str, why: str) -> Iterable[Effect]:
        """End the run, since a part of the machine has gone without being asked."""
        if self.state is RunPhase.RUNNING:
            self.failures.other(what, LOST, why)
            yield from self._stop()
        else:
            yield from self._fail(why, NEVER_STARTED)

    # --- the end ------------------------------------------------------------------------------

    def _fail(self, why: str, code: int) -> Iterable[Effect]:
        self.errors.append(why)
        self._outcome = code
        yield from self._stop()

    def _halt(self, _: Halt) -> Iterable[Effect]:
        if self._stopping:
            return
        self._halted = True
        if self.state is RunPhase.RUNNING and self.steered and not self._jobs:
            yield from self._end_if_all_ended()
        else:
            self._outcome = self.failures.code
            yield from self._stop()

    def _interrupt(self, _: Interrupt) -> Iterable[Effect]:
        """End the run in order, after a short look at what its ranks wait for; then at once."""
        self._interrupts += 1
        if not self._stopping:
            self._outcome = INTERRUPTED
            runs = self._jobs and not self._is_only_output_left
            can_look = self.state is RunPhase.RUNNING and runs
            if self._interrupts == 1 and can_look and not (self._settling or self._timed_out):
                self.deadline = self._now + self.timeouts.glance
                yield Explain(is_brief=True)
                return
            yield from self._stop()
            if self._interrupts == 1:
                return
        if self._open and not self._killed:
            yield from self._kill()
        if self._interrupts == 2:
            yield GiveUp()

    def _interrupt_before(self, _: Interrupt | Halt) -> Iterable[Effect]:
        self.state = RunPhase.FAILED
        yield Finish(INTERRUPTED)

    def _stop(self) -> Iterable[Effect]:
        self.state = RunPhase.ENDING
        self._stopping = True
        self.deadline = self._now + self.timeouts.grace
        self._await_reader()
        yield Stop()
        yield from self._finish_if_closed()

    def _late_output(self, event: OutputFollows) -> Iterable[Effect]:
        self._draining.add(event.cluster)
        self._await_reader()
        return ()

    def _await_reader(self) -> None:
        """Wait where nothing but unread output is left, unless the end is wanted now."""
        is_wanted = self._interrupts or self._halted or self._killed
        if self._open and self._open <= self._draining and not is_wanted:
            self.deadline = self._now + self.timeouts.output

    def _output_taken(self, event: OutputPassedOn) -> Iterable[Effect]:
        if event.cluster in self._draining and not self._killed:
            self.deadline = self._now + self.timeouts.grace
        self._draining.discard(event.cluster)
        return ()

    def _lose_output(self, clusters: Iterable[str]) -> None:
        """Take note of front-ends that end before all of their output has been taken."""
        for cluster in sorted(self._draining.intersection(clusters)):
            path = self.outline.paths[f"front-end:{cluster}"]
            why = f"the rest of the output of {path} is lost: nobody had read it by the end"
            self.failures.other(f"output:{cluster}", OUTPUT_FAILED, why)
            if self._outcome == 0:
                self._outcome = OUTPUT_FAILED

    def _kill(self) -> Iterable[Effect]:
        self._lose_output(self._open)
        self._killed = True
        self.deadline = None
        yield Kill()

    def _overdue(self, _: Tick) -> Iterable[Effect]:
        if self.deadline is not None and self._now >= self.deadline:
            yield from self._kill()

    def _closing_step_done(self, event: StepUp | StepFailed) -> Iterable[Effect]:
        """Files have come home, or not; a late word of an opening step changes nothing."""
        if event.step not in self._fetching:
            return
        self._fetching.discard(event.step)
        if isinstance(event, StepFailed):
            cluster = event.step.partition(":")[2]
            if self._others_have_results_of(cluster):
                self._lose_results(cluster)
            else:
                self.failures.other(event.step, OUTPUT_FAILED, event.why)
                if self._outcome == 0:
                    self._outcome = OUTPUT_FAILED
        yield from self._finish_if_closed()

    def _others_have_results_of(self, cluster: str) -> bool:
        """Tell whether each rank has a replica elsewhere that has made the same."""
        replicas, own = self.outline.replicas, self.outline.ranks.get(cluster, ())
        good = {one for one in replicas if self._has_made_all(one)}
        elsewhere = {replicas[one] for one in good.difference(own)}
        return bool(replicas) and elsewhere == set(replicas.values())

    def _late_rank(self, death: RankDeath) -> Iterable[Effect]:
        """A rank ends after the run was stopped; it may be why it had to be.

        A replica is not, once each rank has a result: it was behind, or was started again too late.
        """
        is_wanted = self.failures.knows(death.who) or not self.failures.is_explained
        is_wanted &= not self.outline.replicas or bool(self._ranks_without_result())
        if self._outcome is None and not self.steered and is_wanted:
            self.failures.rank_died(death)
        yield from self._show_end(death)

    def _late_job(self, event: JobEnded) -> Iterable[Effect]:
        if self._outcome is None and event.is_fault and not self.steered:
            self.failures.other(event.cluster, LOST, event.why)
        return ()

    def _late_assembly(self, event: AssemblyEnded) -> Iterable[Effect]:
        """It failed while it was ended; whatever ended the run comes first."""
        is_first = not self.errors and self.failures.first is None
        if event.why and is_first and self._outcome is None:
            self.failures.other("the assembly", event.code, event.why)
        return ()

    def _place_closed(self, event: PlaceClosed | PlaceLost) -> Iterable[Effect]:
        self._open.discard(event.cluster)
        if isinstance(event, PlaceLost):
            self._gone.add(event.cluster)
        yield Show(self.outline.paths[f"front-end:{event.cluster}"], "ended")
        if self._stopping:
            self._lose_output({event.cluster})
            self._draining.discard(event.cluster)
            self._await_reader()
            yield from self._finish_if_closed()
        elif isinstance(event, PlaceLost):
            self.failures.other(event.cluster, LOST, event.why)
            yield from self._stop()

    def _finish_if_closed(self) -> Iterable[Effect]:
        yield from self._fetch_what_can()
        if self._open or self._fetching:
            return
        self.deadline = None
        if self._was_not_survived():
            self.failures.blame_what_was_lost()
        code = self.failures.code if self._outcome is None else self._outcome
        self.state = RunPhase.DONE if code == 0 else RunPhase.FAILED
        yield Finish(code)

    def _was_not_survived(self) -> bool:
        """Tell whether what was lost keeps the run from being a good one."""
        if self.outline.replicas:
            return bool(self._ranks_without_result())
        return self.failures.was_not_survived or all(one.code for one in self.deaths.values())

    def _fetch_what_can(self) -> Iterable[Effect]:
        """Bring home what was made by clusters in which nothing runs any more, however it ended."""
        needed = self._clusters_of_results()
        is_early = bool(self._open and self.outline.replicas)
        left = {
            step: cluster
            for step in (() if is_early else self.outline.closing)
            if step not in self._fetched and (cluster := step.partition(":")[2]) not in self._open
        }
        wanted = [step for step, cluster in left.items() if cluster in needed]
        # What others have made too stays until the same has come home.
        chosen = wanted or ([] if self._fetching else list(left))
        self._fetched.update(chosen)
        self._fetching.update(chosen)
        for step in chosen:
            yield Start(step) if step in wanted else Discard(step)
        if not self._open:
            self.deadline = None

    def _clusters_of_results(self) -> set[str]:
        """Return the clusters whose results are needed: with replicas those of one of each rank.

        Clusters that have lost nobody come first, those that are lost themselves last. Where a rank
        has no replica that has made all of them, what each cluster has is needed.
        """
        replicas, needed, done = self.outline.replicas, set[str](), set[int]()
        good = {
            cluster: {replicas[one] for one in ranks if self._has_made_all(one)}
            for cluster, ranks in self.outline.ranks.items()
            if replicas
        }
        if not replicas or set[int]().union(*good.values()) != set(replicas.values()):
            return {step.partition(":")[2] for step in self.outline.closing}

        def lacks(cluster: str) -> tuple[bool, int]:
            return cluster in self._gone, len(self.outline.ranks[cluster]) - len(good[cluster])

        for cluster in sorted(good, key=lacks):
            if good[cluster] - done:
                needed.add(cluster)
                done |= good[cluster]
        return needed

    def _has_made_all(self, rank: str) -> bool:
        """Tell whether a replica has ended well that ran from the beginning."""
        return self._has_ended_well(rank) and rank not in self._restarted

    def _nothing(self, _: Event) -> Iterable[Effect]:
        return ()


_Action = Callable[..., Iterable[Effect]]
_S, _R = RunPhase, RunState
_BEFORE = (_S.STARTING, _S.HANDSHAKING)
_TABLE: tuple[tuple[tuple[RunPhase, ...], type, _Action], ...] = (
    ((_S.PLANNED,), Begin, _R._begin),
    ((_S.PLANNED,), Interrupt, _R._interrupt_before),
    ((_S.PLANNED,), Halt, _R._interrupt_before),
    (_BEFORE, StepUp, _R._step_up),
    (_BEFORE, StepFailed, _R._step_failed),
    (_BEFORE, RankHere, _R._rank_here),
    (_BEFORE, RankReady, _R._rank_ready),
    (_BEFORE, RankDeath, _R._too_early),
    (_BEFORE, JobEnded, _R._too_early),
    (_BEFORE, Tick, _R._late_start),
    ((_S.RUNNING,), StepUp, _R._nothing),
    ((_S.RUNNING,), StepFailed, _R._not_again),
    ((_S.RUNNING,), RankHere, _R._nothing),
    ((_S.RUNNING,), RankReady, _R._rank_again),
    ((_S.RUNNING,), RankDeath, _R._rank_died),
    ((_S.RUNNING,), Aborted, _R._aborted),
    ((_S.RUNNING,), JobEnded, _R._job_ended),
    (_BEFORE, OutputFollows, _R._nothing),
    ((_S.RUNNING,), OutputFollows, _R._output_follows),
    ((_S.ENDING,), OutputFollows, _R._late_output),
    ((*_BEFORE, _S.RUNNING), OutputPassedOn, _R._nothing),
    ((_S.ENDING,), OutputPassedOn, _R._output_taken),
    ((_S.RUNNING,), AssemblyEnded, _R._assembly_ended),
    ((_S.RUNNING,), Tick, _R._settled),
    ((_S.RUNNING,), Explained, _R._explained),
    ((_S.ENDING,), Explained, _R._nothing),
    ((_S.RUNNING,), LeftBehind, _R._left_behind),
    ((_S.ENDING,), LeftBehind, _R._nothing),
    ((_S.RUNNING,), Stuck, _R._stuck),
    ((_S.ENDING,), Stuck, _R._nothing),
    ((_S.RUNNING,), Suspected, _R._suspected),
    ((_S.ENDING,), Suspected, _R._nothing),
    ((*_BEFORE, _S.RUNNING), PlaceLost, _R._place_lost),
    ((_S.RUNNING, _S.ENDING), ParentKilled, _R._parent_killed),
    (_BEFORE, ParentKilled, _R._nothing),
    ((*_BEFORE, _S.RUNNING), NodeLost, _R._node_lost),
    ((*_BEFORE, _S.RUNNING, _S.ENDING), Interrupt, _R._interrupt),
    ((*_BEFORE, _S.RUNNING, _S.ENDING), Halt, _R._halt),
    ((_S.ENDING,), StepUp, _R._closing_step_done),
    ((_S.ENDING,), StepFailed, _R._closing_step_done),
    ((_S.ENDING,), RankHere, _R._nothing),
    ((_S.ENDING,), RankReady, _R._nothing),
    ((_S.ENDING,), RankDeath, _R._late_rank),
    ((_S.ENDING,), Aborted, _R._nothing),
    ((_S.ENDING,), JobEnded, _R._late_job),
    ((_S.ENDING,), AssemblyEnded, _R._late_assembly),
    ((_S.ENDING,), NodeLost, _R._nothing),
    ((_S.ENDING,), Tick, _R._overdue),
    ((_S.ENDING,), PlaceLost, _R._place_closed),
    ((_S.ENDING,), PlaceClosed, _R._place_closed),
)
TRANSITIONS: dict[tuple[RunPhase, type], _Action] = {
    (state, event): action for states, event, action in _TABLE for state in states
}
"""Which action each event leads to in each state; a pair that is not here cannot happen."""
