"""The launcher in the world of a run: the state of the run and its services, as production's.

Without processes and files: places are actors, tasks take turns, results are counted. What a batch
system says of a cluster is what the scenario has drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, cast

from gcm.invocation import Invocation
from runtime.coupling.deployed_codes import Codes
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import Step
from runtime.errors import GridError
from runtime.launchers.base import Process
from runtime.launchers.errors import LaunchError
from runtime.launchers.fetching import Stalled
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle import events as run
from runtime.lifecycle.failure_report import first_cause
from runtime.lifecycle.outcome import FirstCause, HeldNodes
from runtime.lifecycle.run_life import RunStage
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.run_plan import replica_ranks, run_plan_of
from runtime.lifecycle.state import IllegalEvent, RunState
from runtime.lifecycle.walltimes import RunTimeouts
from runtime.machine.calls import DispatchTable
from runtime.machine.contracts import CONTRACTS, Appeals, Heartbeats
from runtime.machine.deaths import read_rank
from runtime.machine.paths import LAUNCHER as HERE
from runtime.machine.paths import clustering_path
from runtime.ports import PortNames
from runtime.processes.launcher.call_router import CallRouter
from runtime.processes.launcher.check_reports import CheckReports
from runtime.processes.launcher.cluster_reports import ClusterReports
from runtime.processes.launcher.co_allocator import CoAllocator
from runtime.processes.launcher.handshakes import Handshakes
from runtime.processes.launcher.native_users import NativeUsers
from runtime.processes.launcher.openings import Openings
from runtime.processes.launcher.output import CreditGrants, OutputSpreader
from runtime.processes.launcher.place import ClusterPlace, RequestHandler
from runtime.processes.launcher.places import PlaceMaker, RunPlaces
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.services import Effects, RunServices, Starts
from runtime.processes.launcher.stage_out import StageOut
from runtime.processes.launcher.verdicts import Verdicts
from runtime.processes.launcher.wait_reports import WaitReports
from runtime.processes.watch import watch_of
from runtime.rank_name import RankName
from runtime.results.retries import Retries
from runtime.step_name import StepKind, StepName
from runtime.testing.world.engine import Actor, ActorBegun, CallDue, Effect, Event, World
from runtime.testing.world.reactors import EngineQueue, WorldReactor, WorldTasks
from runtime.testing.world.run_front_end import HEALTH
from runtime.testing.world.run_load import RunScenario
from runtime.testing.world.run_told import (
    ContractCalled,
    CtrlCPressed,
    FrontEndGone,
    KillFrontEnd,
    OpenFrontEnd,
    PlacePrepared,
)
from runtime.testing.world.told import LAUNCHER, TellActor, front_end_of
from runtime.transport.channel import Channel
from runtime.transport.reactor import Reactor
from runtime.views.facts import Fact, OutputWritten
from runtime.views.stream import FactStream, nothing

_AT_THE_END = frozenset({RunStage.ENDING, RunStage.HURRYING, RunStage.KILLED, RunStage.DONE,
                         RunStage.FAILED})  # fmt: skip
TIMEOUTS = RunTimeouts(start=60.0)

_TRY = 0.5
"""Seconds that one try of a copy takes, and the pause between two."""

CREDIT = 16 << 10
"""Bytes of output that a front-end may have on its way: few, so that little output fills that."""

STALL = 5.0
"""Seconds after which a copy counts as stalled."""


class _WorldChannel:
    """The connection to a front-end, as far as production asks it for anything."""

    received_bytes = sent_bytes = messages = 0

    def __init__(self, send: Callable[[Invocation], None]) -> None:
        self._send = send
        self.is_closed = False

    def note(self, call: Invocation, *, now: bool = False) -> None:
        """Send a call."""
        del now
        if not self.is_closed:
            self._send(call)

    def close(self) -> None:
        """Send nothing more."""
        self.is_closed = True


class WorldPlace(ClusterPlace):
    """A place whose front-end is an actor."""

    has_lost_parent = False

    def __init__(self, launcher: RunLauncher, cluster: Any) -> None:
        super().__init__(cluster, cast(LocalLauncher, None))
        self._launcher = launcher
        self.job = launcher.number(self)
        """Of how many jobs of its cluster this is the last one."""
        self.process = cast(Process, object())  # its own: what shares one is given up with it
        self.begin_anew()

    def begin_anew(self) -> None:
        """Have a connection of its own: it has that of a lost one until it is opened."""
        self.channel = cast(Channel, _WorldChannel(self._note))

    def _note(self, call: Invocation) -> None:
        interface = HEALTH if call.interface == HEALTH else call.interface
        told = ContractCalled(HERE, self.identifier, interface, call.operation, tuple(call.args))
        if call.operation == "hear":
            told = ContractCalled(HERE, self.identifier, HEALTH, "hear", tuple(call.args))
        self._launcher.do(TellActor(front_end_of(self.identifier), told))

    def kill(self) -> None:
        """End the front-end and everything below it."""
        self.was_killed = True
        self._launcher.do(KillFrontEnd(self.identifier, self.job))

    def abort(self) -> None:
        """Give it up."""
        self.was_lost = True
        self.kill()

    def expel(self) -> None:
        """End the front-end and its ranks."""
        self.kill()

    def close(self) -> None:
        """Let go of it."""
        self.kill()
        super().close()

    def held_nodes(self) -> list[HeldNodes]:
        """Return nothing."""
        return []


class _WorldOpenings(Openings):
    """Opens places by asking the world."""

    def __init__(self, launcher: RunLauncher) -> None:
        self._launcher = launcher

    def open(self, place: ClusterPlace, places: Any, handler: RequestHandler) -> None:
        """Have a front-end started."""
        del places, handler
        opened = cast(WorldPlace, place)
        opened.begin_anew()
        self._launcher.do(OpenFrontEnd(opened.identifier, opened.job))

    def lost(self, place: ClusterPlace, words: str, fault: GridError | None = None) -> None:
        """Tell that the front-end of a place has gone without being asked."""
        place.was_lost = True
        self._launcher.post(run.PlaceLost(place.identifier, words if fault is None else str(fault)))

    def closed(self, place: ClusterPlace, words: str) -> None:
        """Tell that a front-end has gone while all end."""
        del words
        self._launcher.post(run.PlaceClosed(place.identifier))


class _WorldMaker(PlaceMaker):
    def __init__(self, launcher: RunLauncher) -> None:
        self._launcher = launcher

    def place(self, cluster: Any, reach: Any, *, idle: bool) -> ClusterPlace:
        """Return another place."""
        del reach, idle
        return WorldPlace(self._launcher, cluster)

    def close(self) -> None:
        """Do nothing."""


class _WorldAllocator(CoAllocator):
    def __init__(self, deployment: Any) -> None:
        self.deployment = deployment

    def renew(self, cluster: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class WorldStageOut(StageOut):
    """Brings results home in tries that may stall; production says when it is enough.

    `whole` tells whether all ranks of a cluster had come to their ends by themselves.
    """

    def __init__(self, launcher: RunLauncher, whole: Callable[[str], bool]) -> None:
        self._launcher = launcher
        self._whole = whole
        self.stalls: dict[str, int] = {}
        self.stalled: dict[str, int] = {}
        """How often the copy of each cluster has stalled."""
        self.home: dict[str, bool] = {}
        """Whose results came home, and whether they were whole when the copy began."""
        self.kept: set[str] = set()
        """Whose results stay where they are, which was told."""
        self.discarded: set[str] = set()
        self._taking_part: set[str] = set()
        self._is_given_up = False

    @property
    def effects(self) -> Effects:
        """What is done to results."""
        return {run.Discard: self._discard_step, run.GiveUp: lambda _: self.give_up()}

    @property
    def starts(self) -> Starts:
        """What brings results home."""
        return {StepKind.FETCH: self.fetch}

    def go(self, late: Collection[str]) -> None:
        """Take note of who takes part; nothing is fetched meanwhile."""
        self._taking_part |= self._launcher.places.keys() - set(late)

    def join(self, cluster: str) -> None:
        """Take note of one that has come late."""
        self._taking_part.add(cluster)

    def leave_out(self, cluster: str) -> None:
        """Take note of one that will not come."""
        self._taking_part.discard(cluster)

    def take_former(self, cluster: str) -> list[Any]:  # noqa: ARG002 - as above
        """Return nothing."""
        return []

    def finish_former(self, fetchers: Any) -> None:
        """Do nothing."""

    def remove_work(self, place: ClusterPlace) -> None:
        """Do nothing."""

    def give_up(self) -> None:
        """Let all stay where it is."""
        self._is_given_up = True

    def _discard_step(self, effect: run.Discard) -> None:
        self.discarded.add(effect.step.about)
        self._launcher.post(run.StepUp(effect.step))

    def fetch(self, step: Step) -> None:
        """Bring home what a cluster made."""
        cluster = step.about
        is_whole = self._whole(cluster)
        retries = Retries(self._launcher.reactor.now())
        if cluster not in self._taking_part:
            self._launcher.post(run.StepUp(step.name))
        elif self._launcher.places[cluster].was_lost:
            self._fail(step, "its front-end is lost")
        else:
            self._launcher.reactor.later(_TRY, lambda: self._try(step, retries, is_whole))

    def _try(self, step: Step, retries: Retries, is_whole: bool) -> None:
        cluster, reactor = step.about, self._launcher.reactor
        if self._is_given_up:
            self._fail(step, "it was given up")
        elif not self.stalls.get(cluster, 0):
            self.home[cluster] = is_whole
            self._launcher.post(run.StepUp(step.name))
        else:
            self.stalls[cluster] -= 1
            reactor.later(STALL, lambda: self._stalled(step, retries, is_whole))

    def _stalled(self, step: Step, retries: Retries, is_whole: bool) -> None:
        cluster = step.about
        self.stalled[cluster] = self.stalled.get(cluster, 0) + 1
        if self._is_given_up or retries.is_over(Stalled("it stalls"), 0, self._now):
            self._fail(step, "the copy stalls")
        else:
            self._launcher.reactor.later(_TRY, lambda: self._try(step, retries, is_whole))

    @property
    def _now(self) -> float:
        return self._launcher.reactor.now()

    def _fail(self, step: Step, why: str) -> None:
        self.kept.add(step.about)
        self._launcher.post(run.StepFailed(step.name, str(LaunchError(why))))


class _Reader:
    """Reads output as fast as the scenario has it."""

    def __init__(self, reactor: WorldReactor, rate: float) -> None:
        self._reactor = reactor
        self._rate = rate
        self._free_at = 0.0
        self.read: dict[str, int] = {}

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Take a fact; output takes its time."""
        if not isinstance(fact.record, OutputWritten):
            taken()
            return
        size = len(fact.record.data)
        self.read[fact.name] = self.read.get(fact.name, 0) + size
        now = self._reactor.now()
        self._free_at = max(now, self._free_at) + size / self._rate
        self._reactor.later(self._free_at - now, taken)


class RunLauncher(Actor):
    """The launcher of one run."""

    def __init__(
        self,
        world: World,
        plan: DeploymentPlan,
        scenario: RunScenario,
        whole: Callable[[str], bool],
    ) -> None:
        super().__init__(LAUNCHER)
        self.plan = plan
        self.code: int | None = None
        self.illegal: list[str] = []
        """What happened though it cannot, by the table of the run."""
        self.judged: dict[str, float] = {}
        """Which front-ends were found lost, and when; those that end with the run are, too."""
        self.lost: set[str] = set()
        """Which of them while the run went on."""
        self.suspected: dict[tuple[RankName, RankName], float] = {}
        """Since when ranks cannot reach others, of those that cannot."""
        self.hasty: list[str] = []
        """What was decided though nobody had waited for long enough."""
        self.jobs: Counter[str] = Counter()
        """How many jobs each cluster has had, or asked for."""
        self._made: dict[tuple[str, int], ClusterPlace] = {}
        self.reactor = WorldReactor(world, self.name)
        self._effects: list[Effect] = []
        rng, jitter = world.rng, scenario.jitter

        def pause() -> float:
            return rng.uniform(0.0, jitter) if jitter else 0.0

        self.state = RunState(RunParts(run_plan_of(plan), TIMEOUTS))
        self._queue = EngineQueue(self.reactor, pause, self._take_turn)
        self._tick_at: float | None = None
        late = {
            f"{one.site}:{number}"
            for one, number in zip(scenario.clusters, _numbers(scenario), strict=True)
            if one.granted_at is not None
        }
        self.allocator = _WorldAllocator(plan.deployment.led_without(late))
        self.places: dict[str, ClusterPlace] = {
            one.identifier: WorldPlace(self, one) for one in plan.deployment.clusters()
        }
        self._make_services(scenario, pause, whole)

    def _make_services(
        self, scenario: RunScenario, pause: Callable[[], float], whole: Callable[[str], bool]
    ) -> None:
        """Make what production's `Executor` makes, over actors."""
        plan = self.plan
        self.codes = Codes(plan, settle=TIMEOUTS.settle)
        self.reader = _Reader(self.reactor, scenario.reader)
        facts = FactStream(self.reader, self.reactor.now)
        self._output = OutputSpreader(facts, self.post, replica_ranks(plan))
        self.router = CallRouter(plan, self.places, cast(Any, None), None)
        self.router.lead(self.allocator.deployment)
        tasks = WorldTasks(self.reactor, pause)
        self._verdicts = Verdicts(
            watch_of(plan), self.places, cast(Reactor, self.reactor), self._lost
        )
        self.results = WorldStageOut(self, whole)
        self.ranks = RankProcesses(
            plan, self.places, self.codes, self._later, self.post,
            patience=self._verdicts.settled_after, time_of_day=lambda: "now",
        )  # fmt: skip
        self.handshakes = Handshakes(
            plan, False, local=cast(LocalLauncher, None), places=self.places,
            allocator=self.allocator, router=self.router, verdicts=self._verdicts,
            ranks=self.ranks, stage_out=self.results, tasks=tasks, post=self.post,
        )  # fmt: skip
        handler = RequestHandler(self.reactor, cast(Any, None), self._verdicts.ended, self.post)
        self._run_places = RunPlaces(
            self.places, maker=_WorldMaker(self), allocator=self.allocator, ranks=self.ranks,
            openings=_WorldOpenings(self), handler=handler, verdicts=self._verdicts,
            results=self.results, handshakes=self.handshakes, tasks=tasks, post=self.post,
            follow=self._listen_to,
        )  # fmt: skip
        self.waits = WaitReports(
            self.places.values(), self._later, facts, self.post,
            checks=CheckReports(facts, self.ranks.names), names=self.ranks.names,
            present=self.ranks.present, replicas=replica_ranks(plan),
            looks_behind=not self.ranks.go_on, clock=self.reactor.now,
        )  # fmt: skip
        self._facts = facts
        self._natives = NativeUsers()
        self._port_names = PortNames()
        self._dispatch: dict[str, DispatchTable] = {}
        self.services = self._new_services()
        self.codes.connect(lambda cluster: self.places[cluster].orders, self.reactor.later)
        for place in self.places.values():
            self._listen_to(place)

    def _new_services(self) -> RunServices:
        services = RunServices((*self.plan.steps, *self.plan.closing), self._cannot_start)
        services.add({run.Go: self._go, run.Stop: self._stop})
        services.add(self._run_places.effects, self._run_places.starts)
        services.add(self.ranks.effects, self.ranks.starts)
        services.add(self.results.effects, self.results.starts)
        services.add(self.handshakes.effects, self.handshakes.starts)
        services.add(self.waits.effects(lambda: not self.ranks.is_over))
        return services

    def _listen_to(self, place: ClusterPlace) -> None:
        deaths = [
            self.ranks.rank_ended,
            self.waits.rank_ended,
            self.codes.rank_ended,
            lambda _, death: self.post(death),
        ]
        credit = CreditGrants(CREDIT, place.orders.output_taken)
        self._dispatch[place.identifier] = ClusterReports(
            place, "/home", self.post, codes=self.codes, assembly=None, output=self._output,
            credit=credit, stdin=None, facts=self._facts, handshakes=self.handshakes,
            ranks=self.ranks, waits=self.waits, router=self.router, natives=self._natives,
            names=self._port_names, deaths=deaths,
        ).dispatch_table()  # fmt: skip

    # --- as an actor ------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.code is not None

    @property
    def is_running(self) -> bool:
        """Whether the program runs, and nothing has ended the run yet."""
        return self.state.run.life.stage is RunStage.RUNNING

    @property
    def first_cause(self) -> FirstCause | None:
        """What failed first."""
        return first_cause(self.state.run.failures, (), self.state.run.plan.names)

    def waits_for(self) -> str:
        """Say for what it waits."""
        parts = self.state.run
        ranks = [f"{one.rank} ({one.stage})" for one in parts.ranks.values()]
        places = [f"{one.identifier} ({one.place}, {one.job}, {one.results})"
                  for one in parts.clusters.values()]  # fmt: skip
        return f"while {parts.life.stage}: {', '.join([*places, *ranks])}"

    def number(self, place: ClusterPlace) -> int:
        """Count one more job of the cluster of a place."""
        cluster = place.identifier
        self.jobs[cluster] += 1
        self._made[cluster, self.jobs[cluster]] = place
        return self.jobs[cluster]

    def do(self, effect: Effect) -> None:
        """Want something of the world."""
        self._effects.append(effect)

    def post(self, item: object) -> None:
        """Let the engine take something in a while."""
        self._queue.put(item)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self.reactor.later(seconds, lambda: self.post(call))

    def handle(self, event: Event, now: float) -> Sequence[Effect]:  # noqa: ARG002 - of the reactor
        """Let something happen to it."""
        if not self.is_over:
            self._handle(event)
            self._set_tick()
        effects, self._effects = self._effects, []
        return effects

    def _handle(self, event: Event) -> None:
        match event:
            case ActorBegun():
                self.post(run.Begin())
            case CallDue(call):
                call()
            case CtrlCPressed():
                self.post(run.Interrupt())
            case FrontEndGone(cluster, words, job):
                place = self._made[cluster, job]
                if place.channel is not None:
                    place.channel.close()
                self._verdicts.ended(place, words)
            case PlacePrepared(cluster, "queued"):
                self.post(run.PlaceQueued(cluster, "in the queue"))
            case PlacePrepared(cluster, "late"):
                self.places[cluster].is_late = True
                self.post(run.PlaceLate(cluster))
            case PlacePrepared(cluster, "granted", left):
                walltime = None if left is None else run.Walltime(left)
                self.post(run.PlaceGranted(cluster, walltime))
            case PlacePrepared(cluster, words):
                self._cannot_open(self.places[cluster], words)  # the last one, which waits
            case ContractCalled():
                self._take_call(event)
            case _:
                pass

    def _cannot_open(self, place: ClusterPlace, words: str) -> None:
        """Tell that a place was given up, or its job ended, before its front-end was started."""
        place.was_lost = True
        self.post(run.StepFailed(StepName(StepKind.FRONT_END, place.identifier), words))
        self.post(run.PlaceClosed(place.identifier))

    def _take_call(self, call: ContractCalled) -> None:
        place = self.places[call.by]
        if call.interface == CONTRACTS[Heartbeats] and call.to == LAUNCHER:
            self._verdicts.heartbeat(place, call.args)
        elif call.to != LAUNCHER:
            to = call.to if call.interface == HEALTH else self.router.host_of(call.to).identifier
            if call.operation == "view":
                self.router.note_view(clustering_path(call.to))
            self.do(TellActor(front_end_of(to), call))
        else:
            args = call.args if call.interface == CONTRACTS[Appeals] else call.args[1:]
            self._note_doubt(call)
            dispatch = self._dispatch[call.by]
            self.post(partial(dispatch.call, call.interface, call.operation, args))

    def _note_doubt(self, call: ContractCalled) -> None:
        if call.operation not in ("suspects", "trusts"):
            return
        pair = read_rank(call.args[0]), read_rank(call.args[1])
        if call.operation == "suspects":
            self.suspected[pair] = self.reactor.now()
        else:
            self.suspected.pop(pair, None)

    # --- the engine -------------------------------------------------------------------------------

    def _take_turn(self, item: object) -> None:
        if self.is_over:
            return
        if callable(item):
            item()
        else:
            self._happen(cast(run.Event, item))

    def _set_tick(self) -> None:
        due = self.state.due
        if due is not None and due != self._tick_at:
            self._tick_at = due
            self.reactor.later(max(0.0, due - self.reactor.now()), self._tick)

    def _tick(self) -> None:
        due = self.state.due
        if due is None or self.reactor.now() < due:
            self._tick_at = None
            self._set_tick()
        else:
            self.post(self._be_late)

    def _be_late(self) -> None:
        """Let a time be over, behind all that has come until then."""
        self._tick_at = None
        due = self.state.due
        if due is not None and self.reactor.now() >= due:
            self._happen(run.Tick())

    def _happen(self, event: run.Event) -> None:
        if isinstance(event, run.Suspected):
            self._check_patience(event)
        try:
            effects = self.state.handle(event, self.reactor.now())
        except IllegalEvent as fault:
            self.illegal.append(f"{fault}: {event}")
            return
        for effect in effects:
            if isinstance(effect, run.Finish):
                self.code = effect.code
            elif not isinstance(effect, run.Show):
                self.services.do(effect)

    def _check_patience(self, event: run.Suspected) -> None:
        now = self.reactor.now()
        since = [
            at
            for (by, rank), at in self.suspected.items()
            if (by.place, rank.place) == (event.by, event.rank)
        ]
        if since and now - max(since) < self._verdicts.settled_after - 1e-6:
            waited = now - max(since)
            self.hasty.append(f"{event.by} suspects {event.rank} for {waited:.3f} s only")

    def _lost(self, place: ClusterPlace, words: str, fault: GridError | None) -> None:
        self.judged.setdefault(place.identifier, self.reactor.now())
        if self.state.run.life.stage not in _AT_THE_END:
            self.lost.add(place.identifier)
        self.post(lambda: self._run_places.lose(place, words, fault))

    # --- what concerns all services ---------------------------------------------------------------

    def _cannot_start(self, step: Step) -> None:
        self.post(run.StepFailed(step.name, f"{step.name}: this cannot be started"))

    def _go(self, _: run.Go) -> None:
        self.results.go(self.handshakes.missing)
        self.codes.go()
        for place in self.places.values():
            place.orders.go()
        self.codes.open()
        self.handshakes.go()

    def _stop(self, _: run.Stop) -> None:
        self.ranks.end()
        self._verdicts.end()
        self._run_places.stop()


def _numbers(scenario: RunScenario) -> list[int]:
    """Return the number of each cluster in its site."""
    seen: dict[int, int] = {}
    found = []
    for one in scenario.clusters:
        found.append(seen.get(one.site, 0))
        seen[one.site] = found[-1] + 1
    return found


__all__ = ["STALL", "RunLauncher", "WorldPlace", "WorldStageOut"]
