"""The launcher and the front-ends of a simulated world, around production's state of the run.

The launcher is `RunState` with the suspicions of ranks, a front-end `JobEnds`. What goes between
them, and to ranks, is carried without loss, and late where a process is stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runtime.launchers.base import Exit
from runtime.lifecycle import events as run
from runtime.lifecycle.asked_ends import AskedEnds
from runtime.lifecycle.failure_report import first_cause
from runtime.lifecycle.outcome import FirstCause
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.run_plan import RunPlan
from runtime.lifecycle.state import IllegalEvent, RunState
from runtime.lifecycle.suspicions import AFTER_STANDSTILL, Suspicion, Suspicions
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.processes.front_end.job_ends import JobEnds
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName
from runtime.testing.world.engine import Actor, ActorBegun, Due, Effect, Event, WakeAt
from runtime.testing.world.told import (
    LAUNCHER,
    EndAsked,
    EndsTold,
    FrontEndEnded,
    Killed,
    Ordered,
    RankExited,
    RankSaid,
    Released,
    RunTold,
    Spawned,
    StillnessTold,
    SuspicionTold,
    TellActor,
    front_end_of,
)

PATIENCE = 1.0
"""Seconds after which a suspicion is decided, as where no front-end is watched."""

_EXPLAINS = 0.5


# --- the launcher ---------------------------------------------------------------------------------


class LauncherActor(Actor):
    """The state of the run, and what it needs to be told in time."""

    def __init__(self, plan: RunPlan) -> None:
        super().__init__(LAUNCHER)
        self.state = RunState(RunParts(plan))
        self.code: int | None = None
        self.illegal: list[str] = []
        """What happened though it cannot, by the table of the run."""
        self._suspicions = Suspicions(lambda _: 1)
        self._asked = AskedEnds()
        self._due: list[tuple[float, Suspicion]] = []
        self._explained_at: float | None = None
        self._announced: dict[RankName, RankDeath] = {}
        self._condemned: set[str] = set()

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.code is not None

    @property
    def first_cause(self) -> FirstCause | None:
        """What failed first."""
        return first_cause(self.state.run.failures, (), self.state.run.plan.names)

    def waits_for(self) -> str:
        """Say for what it waits."""
        run_parts = self.state.run
        ranks = [f"{one.name} ({one.stage})" for one in run_parts.ranks.values()]
        places = [f"{one.name} ({one.place}, {one.job})" for one in run_parts.clusters.values()]
        return f"while {run_parts.life.stage}: {', '.join([*places, *ranks])}"

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Let something happen to the run."""
        if self.is_over:
            return ()
        effects = list(self._handle(event, now))
        return [*effects, WakeAt(self._next(now))]

    def _next(self, now: float) -> float | None:
        times = [self.state.due, self._explained_at, *(at for at, _ in self._due)]
        return min((max(one, now) for one in times if one is not None), default=None)

    def _handle(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case ActorBegun():
                yield from self._happen(run.Begin(), now)
            case RunTold(what):
                if isinstance(what, RankDeath):
                    yield from self._ended(what, now)
                yield from self._happen(what, now)
            case EndAsked():
                yield from self._answer(event)
            case SuspicionTold(by, rank, why):
                pair = RankName.parse(by), RankName.parse(rank)
                if why:
                    self._due.append((now + PATIENCE, self._suspicions.add(*pair, why)))
                else:
                    self._suspicions.withdraw(*pair)
            case StillnessTold(name, goes_on):
                still = RankName.parse(name)
                if not goes_on:
                    self._suspicions.stopped(still)
                for one in self._suspicions.goes_on(still) if goes_on else ():
                    self._due.append((now + AFTER_STANDSTILL, one))
            case Due():
                yield from self._do_what_is_due(now)

    def _ended(self, death: RankDeath, now: float) -> Iterator[Effect]:
        for one in self._suspicions.goes_on(death.rank):
            self._due.append((now + PATIENCE, one))
        for by in self._asked.ended(death):
            yield _told_end(by, death)

    def _answer(self, asked: EndAsked) -> Iterator[Effect]:
        by = RankName.parse(asked.by)
        death = self._asked.ask(by, RankName.parse(asked.rank))
        if death is not None:
            yield _told_end(by.place, death)

    def _do_what_is_due(self, now: float) -> Iterator[Effect]:
        due = [one for at, one in self._due if at <= now]
        self._due = [each for each in self._due if each[0] > now]
        for one in due:
            if self._suspicions.is_due(one):
                by, rank, blamed = one.by.place, one.rank.place, self._suspicions.blamed(one)
                event = run.Suspected(by, rank, one.why, blamed)
                yield from self._happen(event, now)
        if self._explained_at is not None and now >= self._explained_at:
            self._explained_at = None
            yield from self._happen(run.Explained(), now)
        if self.state.due is not None and now >= self.state.due:
            yield from self._happen(run.Tick(), now)

    def _happen(self, what: run.Event, now: float) -> Iterator[Effect]:
        waiting = [what]
        while waiting and not self.is_over:
            try:
                effects = self.state.handle(waiting.pop(0), now)
            except IllegalEvent as fault:
                self.illegal.append(str(fault))
                continue
            for effect in effects:
                yield from self._do(effect, waiting, now)

    def _do(self, effect: run.Effect, waiting: list[run.Event], now: float) -> Iterator[Effect]:
        match effect:
            case run.Start(step):
                yield from self._start(step, waiting)
            case run.Go():
                yield from self._tell_all(Ordered("go"))
            case run.Stop():
                yield from self._tell_all(Ordered("stop"))
            case run.Kill():
                names = [front_end_of(one.identifier) for one in self.state.run.places]
                yield Killed(tuple(names))
                waiting += [run.PlaceClosed(one.identifier) for one in self.state.run.places]
            case run.Announce(death, is_new):
                if is_new:
                    self._announced[death.rank] = death
                yield from self._tell_all(EndsTold(self._announced.get(death.rank, death)))
            case run.TellUnreachable(by, rank, why):
                told = EndsTold(RankDeath.lost(rank, why), lost_to=str(by))
                yield TellActor(front_end_of(by.cluster), told)
            case run.Condemn():
                yield from self._condemn(effect, waiting)
            case run.CondemnRank(rank, _):
                yield TellActor(front_end_of(rank.cluster), Ordered("end", str(rank)))
            case run.Explain():
                self._explained_at = now + _EXPLAINS
            case run.Finish(code):
                self.code = code

    def _start(self, step: StepName, waiting: list[run.Event]) -> Iterator[Effect]:
        if step.kind is StepKind.FRONT_END:
            yield TellActor(front_end_of(step.about), Ordered("open"))
        elif step.kind is StepKind.RANKS:
            yield TellActor(front_end_of(step.about), Ordered("start"))
        else:
            waiting.append(run.StepUp(step))

    def _condemn(self, effect: run.Condemn, waiting: list[run.Event]) -> Iterator[Effect]:
        cluster, line = effect.cluster, effect.line
        if cluster not in self._condemned:
            self._condemned.add(cluster)
            words = effect.why if line is None else f"{' to '.join(line)} is cut: {effect.why}"
            yield Killed((front_end_of(cluster),))
            waiting.append(run.PlaceLost(cluster, words))

    def _tell_all(self, told: Event) -> Iterator[Effect]:
        for cluster in self.state.run.plan.ranks:
            yield TellActor(front_end_of(cluster), told)


def _told_end(to: RankName, death: RankDeath) -> TellActor:
    return TellActor(front_end_of(to.cluster), EndsTold(death, told_to=str(to)))


# --- a front-end ----------------------------------------------------------------------------------


class FrontEndActor(Actor):
    """The front-end of one cluster: it starts ranks, and makes one death of all it hears."""

    def __init__(self, cluster: str, ups: Mapping[str, run.StepUp], ranks: Sequence[str]) -> None:
        super().__init__(front_end_of(cluster))
        self.cluster = cluster
        self._up = ups
        self._ranks = tuple(ranks)
        self._ends = JobEnds(cluster)
        self._ready: set[str] = set()
        self._gone: set[str] = set()
        self._connected: set[str] = set()
        self._is_stopping = self._has_started = self._is_over = False
        self._job_is_over = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._is_over

    def waits_for(self) -> str:
        """Say for what it waits."""
        left = [one for one in self._ranks if one not in self._gone]
        return f"for the ends of {left}" if self._has_started else "to be opened"

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Let something happen to the cluster."""
        return [] if self._is_over else list(self._handle(event, now))

    def _handle(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Ordered("open"):
                yield self._told(self._up["front-end"])
            case Ordered("start"):
                self._has_started = True
                yield Spawned(self.cluster)
            case Ordered("go"):
                for rank in self._ranks:
                    yield TellActor(rank, Released())
            case Ordered("end", rank):
                yield Killed((rank,))
            case Ordered("stop"):
                yield from self._stop(now)
            case EndsTold():
                for rank in self._ranks:
                    yield TellActor(rank, event)
            case RankSaid(rank, what, end):
                yield from self._hear(rank, what, end, now)
            case RankExited():
                yield from self._exited(event, now)
            case SuspicionTold() | StillnessTold() | EndAsked():
                yield TellActor(LAUNCHER, event)
            case _:
                pass

    def _told(self, what: run.Event) -> TellActor:
        return TellActor(LAUNCHER, RunTold(what))

    def _stop(self, now: float) -> Iterator[Effect]:
        self._is_stopping = True
        self._ends.stopping(now)
        yield Killed(tuple(one for one in self._ranks if one not in self._gone))
        if not self._has_started:
            self._gone.update(self._ranks)
        yield from self._finish(now)

    def _hear(self, rank: str, what: str, end: Observation | None, now: float) -> Iterator[Effect]:
        if what == "here":
            self._connected.add(rank)
            yield self._told(run.RankHere(RankName.parse(rank)))
        elif what == "ready":
            self._ready.add(rank)
            yield self._told(run.RankReady(RankName.parse(rank)))
            if len(self._ready) == len(self._ranks):
                yield self._told(self._up["ranks"])
        elif what == "left":
            self._connected.discard(rank)
            if (death := self._ends.left(rank)) is not None:
                yield self._told(death)
            yield from self._finish(now)
        elif end is not None and (death := self._ends.program_ended(rank, end)) is not None:
            yield self._told(death)

    def _exited(self, event: RankExited, now: float) -> Iterator[Effect]:
        self._gone.add(event.rank)
        code = 128 + event.signal if event.signal else event.code
        seen = Observation(Witness.PARENT, code, event.signal, at=event.at)
        is_connected = event.rank in self._connected
        death = self._ends.exited(event.rank, seen, is_connected=is_connected)
        if death is not None:
            yield self._told(death)
        yield from self._finish(now)

    def _finish(self, now: float) -> Iterator[Effect]:
        """End the job with its last rank, and itself once it was asked to."""
        are_gone = len(self._gone) == len(self._ranks) and not self._connected
        if are_gone and self._has_started and not self._job_is_over:
            self._job_is_over = True
            code = self._ends.first_code
            deaths, fault = self._ends.job_over(Exit(code=code, at=now), "", list(self._ranks))
            for death in deaths:
                yield self._told(death)
            yield self._told(run.JobEnded(self.cluster, code, fault, is_fault=bool(fault)))
        if are_gone and self._is_stopping and not self._is_over:
            self._is_over = True
            yield self._told(run.PlaceClosed(self.cluster))
            yield FrontEndEnded(self.cluster)
