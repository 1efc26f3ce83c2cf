"""Does what the state of a run says: starts its steps, ends its places, tells what becomes of both.

What happens to ranks is left to `RankProcesses`, what front-ends call to `IncomingCalls`, and what
only passes through here to the `CallRouter`.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self

from runtime.coupling.deployed_codes import Codes
from runtime.deployment.model import ASSEMBLY, DeployedCluster
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import Step
from runtime.deployment.planning.workplace import workplace_of
from runtime.errors import GridError
from runtime.hosting.host import Host
from runtime.launchers.base import Command
from runtime.launchers.errors import LaunchError
from runtime.launchers.local import LocalLauncher
from runtime.launchers.segments import remove_segments
from runtime.lifecycle.events import (
    Announce,
    AskAgain,
    Condemn,
    CondemnRank,
    Discard,
    Effect,
    Explain,
    Fill,
    GiveUp,
    Go,
    Kill,
    LeaveOut,
    LetGo,
    LimitTime,
    Show,
    Signal,
    Start,
    StepFailed,
    StepUp,
    Stop,
    TellUnreachable,
)
from runtime.lifecycle.outcome import ForwardedTraffic, RouteTraffic
from runtime.lifecycle.run_life import RunPhase
from runtime.lifecycle.run_plan import replica_ranks
from runtime.lifecycle.state import RunState
from runtime.machine.calls import DispatchTable
from runtime.machine.paths import FIRST_CLUSTER, GRID, LAUNCHER
from runtime.processes.launcher.call_router import CallRouter
from runtime.processes.launcher.check_reports import CheckReports
from runtime.processes.launcher.cluster_reports import ClusterReports
from runtime.processes.launcher.co_allocator import CoAllocator
from runtime.processes.launcher.handshakes import Handshakes
from runtime.processes.launcher.helpers import Helper, kill_all
from runtime.processes.launcher.incoming_calls import IncomingCalls
from runtime.processes.launcher.native_users import NativeUsers
from runtime.processes.launcher.openings import Openings, Post
from runtime.processes.launcher.output import (
    MOST_CREDIT,
    CreditGrants,
    OutputSpreader,
    credit_for,
)
from runtime.processes.launcher.place import ClusterPlace, RemotePlace, RequestHandler
from runtime.processes.launcher.queued_place import LoginNodes, QueuedPlace
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.reaching import Reach, usual_launcher
from runtime.processes.launcher.samples import UNSAMPLED, Samples, Sampling
from runtime.processes.launcher.stage_out import StageOut
from runtime.processes.launcher.standard_input import StandardInput
from runtime.processes.launcher.task_group import TaskGroup
from runtime.processes.launcher.verdicts import Verdicts
from runtime.processes.launcher.wait_reports import WaitReports
from runtime.processes.launcher.warm_start import WarmStart
from runtime.processes.watch import watch_of
from runtime.shown_text import LONGEST_CELL, shown
from runtime.step_name import WHOLE_GRID, StepKind
from runtime.transport.reactor import Reactor
from runtime.views.facts import MACHINE, CallsChecked, RunStarted, StateChanged
from runtime.views.stream import FactStream

if TYPE_CHECKING:
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly

SECRET_BYTES = 32

REMOVE_TIMEOUT = 5.0

_log = logging.getLogger(__name__)


class Executor:
    """Owns the places and helpers of a run. `do` is called by the engine's thread only."""

    def __init__(
        self,
        plan: DeploymentPlan,
        local: LocalLauncher,
        reactor: Reactor,
        facts: FactStream,
        post: Post,
        *,
        codes: Codes,
        start_timeout: float,
        assembly: DeployedAssembly | None = None,
        warm: WarmStart | None = None,
        stdin: int | None = None,
        reach: Reach = usual_launcher,
        samples: Sampling = UNSAMPLED,
    ) -> None:
        self._plan = plan
        self._local = local
        self._post = post
        self._reactor = reactor
        self._tasks = TaskGroup()
        self._facts = facts
        self._names = {part.path: part.identifier for part in plan.components().walk()}
        self._output = OutputSpreader(facts, post, replica_ranks(plan))
        self._openings = Openings(plan, os.urandom(SECRET_BYTES), local, warm, self._tasks, post)
        self._host = Host(LAUNCHER, reactor)
        self._steps = {step.name: step for step in (*plan.steps, *plan.closing)}
        self._places: dict[str, ClusterPlace] = {}
        self._logins = LoginNodes(local, start_timeout)
        self._allocator = CoAllocator(plan.deployment, waits_for_all=codes.idle)
        self.router = CallRouter(plan, self._places, self._host, assembly)
        for cluster in plan.deployment.clusters():
            self._add_place(cluster, reach, idle=codes.idle)
        self._verdicts = Verdicts(watch_of(plan), self._places, reactor, self._is_lost)
        self.calls = IncomingCalls(codes, self._host, self._verdicts, post, assembly)
        self._handler = RequestHandler(reactor, self.calls.take, self._verdicts.ended, post)
        self._stage_out = StageOut(plan, self._places, local, self._tasks, post)
        self._input = None if stdin is None else self._new_input(stdin)
        self._helpers: list[Helper] = []
        self._ranks = RankProcesses(
            plan, self._places, codes, self._later, post, patience=self._verdicts.settled_after
        )
        self._assembly = assembly
        if assembly is not None:
            assembly.connect(self._host, self._places, post)
        self._codes = codes
        self._natives = NativeUsers()
        self.waits = self._new_waits()
        self.samples = Samples(
            self._places.values(), self.waits, facts, self._later, sampling=samples
        )
        self._handshakes = Handshakes(
            plan, codes.idle, local, self._places, self._allocator, self.router, self._verdicts,
            self._ranks, self._stage_out, self._tasks, post,
        )  # fmt: skip
        codes.registry.connect(
            self.router.news_to, self.router.mail_to, self.router.publish_coupled
        )
        codes.connect(lambda cluster: self._places[cluster].orders, reactor.later)
        self.calls.dispatch |= {name: self._reports(place) for name, place in self._places.items()}

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._reactor.later(seconds, lambda: self._post(call))

    def _add_place(self, cluster: DeployedCluster, reach: Reach, *, idle: bool) -> ClusterPlace:
        onward = partial(self.router.onward, cluster.identifier)
        new = self._kind_of(cluster, reach)(cluster, self._local, onward, idle=idle)
        self._places[cluster.identifier] = new
        return new

    def _kind_of(self, cluster: DeployedCluster, reach: Reach) -> Callable[..., ClusterPlace]:
        if cluster.batch is not None:
            queue = self._logins.queue_of(cluster)
            return partial(QueuedPlace, queue=queue, allocator=self._allocator)
        return ClusterPlace if cluster.is_local else partial(RemotePlace, reach=reach)

    def _new_input(self, stdin: int) -> StandardInput | None:
        # Replicas would have to read the same; each finds the end of the input.
        if FIRST_CLUSTER not in self._places or replica_ranks(self._plan):
            return None
        return StandardInput(stdin, self._places[FIRST_CLUSTER].orders.read)

    def _new_waits(self) -> WaitReports:
        return WaitReports(
            self._places.values(),
            self._later,
            self._facts,
            self._post,
            checks=CheckReports(self._facts, self._ranks.names),
            names=self._ranks.names,
            present=self._ranks.present,
            replicas=replica_ranks(self._plan),
            looks_behind=not (self._codes.is_steered or self._ranks.go_on),
        )

    def _reports(self, place: ClusterPlace) -> DispatchTable:
        return ClusterReports(
            place,
            workplace_of(self._plan.deployment, place.cluster).folder,
            self._post,
            codes=self._codes,
            assembly=self._assembly,
            output=self._output,
            credit=CreditGrants(credit_for(len(self._places)), place.orders.output_taken),
            stdin=self._input,
            facts=self._facts,
            handshakes=self._handshakes,
            ranks=self._ranks,
            waits=self.waits,
            router=self.router,
            natives=self._natives,
        ).dispatch_table()

    def __enter__(self) -> Self:
        """Return the executor, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what is left and let go of all places, in parallel."""
        self._ranks.end()
        self._stage_out.give_up()
        if self._input is not None:
            self._input.close()
        kill_all(self._helpers)
        for tunnels in self._handshakes.tunnels:
            tunnels.close()
        for place in self._places.values():
            place.kill()
            self._tasks.do(f"closing {place.cluster.path}", partial(self._close, place))
        self._tasks.join()
        self._allocator.close()
        self._logins.close()
        self._host.close()
        self._output.finish()
        if self._assembly is not None and self._assembly.result is not None:
            self._output.line(ASSEMBLY, "stdout", self._assembly.result)

    def _close(self, place: ClusterPlace) -> None:
        """Let go of a place, and remove what killed ranks left if its front-end could not."""
        paths = self._ranks.segments_of(place.identifier)
        if place.cluster.is_local and place.was_lost:
            remove_segments(paths)
        elif paths and place.was_lost:
            with suppress(LaunchError):
                place.launcher.start(Command(("rm", "-f", "--", *sorted(paths)))).wait(
                    REMOVE_TIMEOUT
                )
        place.close()

    def do(self, effect: Effect) -> None:
        """Do it, without waiting for what it leads to."""
        match effect:
            case Start(step):
                self._start(self._steps[step])
            case Discard(step):
                self._stage_out.discard(self._steps[step])
            case Go():
                self._go()
            case Stop():
                self._stop()
            case LeaveOut() | AskAgain() | Fill() | LetGo():
                self._do_to_late(effect)
            case Announce() | CondemnRank() | TellUnreachable() | Signal() | LimitTime():
                self._do_to_ranks(effect)
            case Condemn():
                self._condemn(effect)
            case Explain(is_brief=True):
                self.waits.glance(lambda: not self._ranks.is_over)
            case Explain():
                self.waits.explain_end()
            case GiveUp():
                self._stage_out.give_up()
            case Kill():
                for place in self._places.values():
                    place.was_lost = True
                    place.kill()

    def _do_to_late(self, effect: LeaveOut | AskAgain | Fill | LetGo) -> None:
        match effect:
            case LeaveOut(cluster):
                self._handshakes.leave_out(cluster)
            case AskAgain(cluster):
                self._ask_again(self._places[cluster])
            case Fill(cluster):
                self._handshakes.joined(cluster)
                self._ranks.fill(cluster)
            case LetGo(cluster):
                self._let_go(self._places[cluster])

    def _do_to_ranks(
        self, effect: Announce | CondemnRank | TellUnreachable | Signal | LimitTime
    ) -> None:
        match effect:
            case Announce(death, is_new):
                self._ranks.announce(death, is_new=is_new)
            case CondemnRank(rank, why):
                self._ranks.condemn(rank, why)
            case TellUnreachable(by, rank, why):
                self._ranks.lose_to(by, rank, why)
            case Signal(cluster, name):
                self._places[cluster].orders.signal_ranks(int(signal.Signals[f"SIG{name}"]))
            case LimitTime(cluster, ends, saves):
                self._places[cluster].orders.limit_time(ends, saves)

    def publish_figures(self, state: RunState) -> None:
        """Tell what was carried and what came home; log what nobody has received."""
        if state.run.life.phase is RunPhase.DONE:
            self.waits.log_unreceived()
        for place in self._places.values():
            for traffic in _traffic(place):
                self._facts.tell(place.identifier, traffic)
            for held in place.held_nodes():
                self._facts.tell(place.identifier, held)
        for tunnels in self._handshakes.tunnels:
            for carried in tunnels.traffic():
                self._facts.tell(MACHINE, carried)
        for results in self._stage_out.results():
            self._facts.tell(results.cluster, results)
        if self._plan.deployment.checked:
            self._facts.tell(MACHINE, CallsChecked(self.waits.checks.calls))

    def show(self, change: Show) -> None:
        """Tell that a part of the machine is in another state."""
        name = self._names.get(change.path, change.path.removeprefix(f"{GRID}/"))
        detail = shown(change.detail, LONGEST_CELL)
        self._facts.tell(name, StateChanged(change.state, detail, change.walltime))

    # --- effects ----------------------------------------------------------------------------------

    def _start(self, step: Step) -> None:
        cluster = step.about
        _log.info("%s begins", step.name)
        match step.kind:
            case StepKind.FRONT_END:
                self._openings.open(self._places[cluster], self._places.values(), self._handler)
            case StepKind.RANKS if self._codes.idle:
                self._post(StepUp(step.name))
            case StepKind.RANKS:
                self._places[cluster].orders.start_ranks(self._codes.incarnation(cluster))
            case StepKind.HANDSHAKE:
                self._handshakes.expect("" if cluster == WHOLE_GRID else cluster)
            case StepKind.PROCESS:
                self._tasks.do(
                    str(step.name), lambda: self._help(step), partial(self._failed, step)
                )
            case StepKind.TUNNELS:
                self._handshakes.open_tunnels(step.name, StepUp(step.name))
            case StepKind.FETCH:
                self._stage_out.fetch(step)
            case StepKind.NODE | StepKind.ASSEMBLE if self._assembly is not None:
                self._assembly.start(step)
            case _:
                self._post(StepFailed(step.name, f"{step.name}: this cannot be started"))

    def _go(self) -> None:
        self._stage_out.go(self._handshakes.missing)
        self._facts.tell(MACHINE, RunStarted())
        self._codes.go()
        for place in self._places.values():
            place.orders.go()
        self._codes.open()
        if self._assembly is not None:
            self._assembly.go()
        self.samples.begin()
        self._handshakes.go()

    def _stop(self) -> None:
        self.samples.end()
        self._ranks.end()
        self._verdicts.end()
        kill_all(self._helpers)
        if self._assembly is None:
            self._stop_places()
        else:
            self._tasks.do("ending the assembly", partial(self._end_assembly, self._assembly))

    def _end_assembly(self, assembly: DeployedAssembly) -> None:
        """End the components before the processes in which they live."""
        try:
            assembly.end()
        finally:
            self._post(self._stop_places)

    def _stop_places(self) -> None:
        places = self._places.values()
        starting = {place.process for place in places if not place.is_up}
        for place in places:
            if place.process in starting:  # with others in one process, which ends with all of them
                self._tasks.do(f"giving up {place.cluster.path}", place.abort)
            else:
                place.orders.output_taken(MOST_CREDIT)  # for last words, read or not
                place.orders.stop()

    def _failed(self, step: Step, fault: GridError) -> None:
        self._post(StepFailed(step.name, str(fault)))

    def _condemn(self, effect: Condemn) -> None:
        place = self._places[effect.cluster]
        if effect.line is None:
            self._verdicts.condemn(place, effect.why)
        else:
            source, target = effect.line
            self._verdicts.cut(place, effect.why, self._places[source], self._places[target])

    def _is_lost(self, place: ClusterPlace, words: str, fault: GridError | None) -> None:
        self._post(lambda: self._lose(place, words, fault))

    def _lose(self, place: ClusterPlace, words: str, fault: GridError | None) -> None:
        """Do what a verdict leads to: the run ends, or waits for one place less."""
        _log.info("%s: the front-end has gone: %s", place.cluster.path, words)
        if fault is not None:
            place.expel()  # what is not heard of any more must not come back
        self._ranks.place_lost(place.identifier)
        if self._ranks.is_over:
            self._openings.closed(place)
        elif not place.was_lost:  # else it is known already
            self._openings.lost(place, words, fault)
            self._handshakes.join_arrived()  # without those that it led

    def _let_go(self, place: ClusterPlace) -> None:
        """Give the nodes back of a cluster that will not come, once its work folder is removed."""

        def close() -> None:
            with suppress(LaunchError):
                self._stage_out.remove_work(place)
            self._close(place)

        place.was_lost = True
        self._stage_out.leave_out(place.identifier)
        self._handshakes.leave(place)
        self._tasks.do(f"closing {place.cluster.path}", close)
        self._handshakes.join_arrived()  # without those that it would have led

    def _ask_again(self, lost: ClusterPlace) -> None:
        """Let another place follow a lost one, as one that comes late, and bring its results home.

        The nodes of the lost one are given back first.
        """
        name = lost.identifier
        former = self._stage_out.take_former(name)
        lost.was_lost = True
        self._handshakes.leave(lost)
        new = self._add_place(lost.cluster, usual_launcher, idle=lost.idle)
        new.channel = lost.channel  # what is sent there before it is up goes nowhere
        self.calls.dispatch[name] = self._reports(new)
        self._verdicts.renew(lost, "its job has ended")
        self._handshakes.leave_out(name)

        def give_back() -> None:
            try:
                self._close(lost)
            finally:  # the ranks that wait for the next job wait for ever without it
                self._allocator.renew(name)
                self._post(lambda: self._openings.open(new, (), self._handler))

        def finish() -> None:
            try:
                give_back()
            finally:  # the end of the run waits for these
                self._stage_out.finish_former(former)

        def warn(fault: GridError) -> None:
            _log.warning("%s", fault)

        self._tasks.do(f"giving up a job of {lost.cluster.path}", finish, warn)
        self._handshakes.join_arrived()  # without those that it would have led

    def _help(self, step: Step) -> None:
        launcher = self._places[step.by.about].launcher if step.by else self._local
        self._helpers.append(Helper(step, launcher, self._post, self._output.helper))


def _traffic(place: ClusterPlace) -> Iterator[RouteTraffic | ForwardedTraffic]:
    name, channel = place.cluster.path, place.channel
    if channel is not None and channel.messages:
        counts = channel.messages, channel.sent_bytes, channel.received_bytes
        yield RouteTraffic(f"launcher - {name}", *counts)
    if any(place.carried):
        yield RouteTraffic(f"{name} - its ranks", *place.carried)
    if any(place.relay_figures):
        yield ForwardedTraffic(name, *place.relay_figures)
