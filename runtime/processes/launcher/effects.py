"""The services of a run, and what they do together: begin, end, and tell what is shown of it.

Each effect belongs to the service that owns the part it changes: places, ranks, results, helpers,
handshakes, waits, the assembly. Here they are made, and here is what concerns all of them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Self

from runtime.coupling.deployed_codes import Codes
from runtime.deployment.model import ASSEMBLY
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import Step
from runtime.deployment.planning.workplace import workplace_of
from runtime.errors import GridError
from runtime.hosting.host import Host
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import Effect, Go, Show, StepFailed, Stop
from runtime.lifecycle.outcome import ForwardedTraffic, RouteTraffic
from runtime.lifecycle.run_life import RunPhase
from runtime.lifecycle.run_plan import replica_ranks
from runtime.lifecycle.state import RunState
from runtime.machine.deaths import RankDeath
from runtime.machine.paths import FIRST_CLUSTER, GRID, LAUNCHER
from runtime.ports import PortNames
from runtime.processes.launcher.call_router import CallRouter
from runtime.processes.launcher.check_reports import CheckReports
from runtime.processes.launcher.cluster_reports import ClusterReports
from runtime.processes.launcher.co_allocator import CoAllocator
from runtime.processes.launcher.handshakes import Handshakes
from runtime.processes.launcher.helpers import Helpers
from runtime.processes.launcher.incoming_calls import IncomingCalls
from runtime.processes.launcher.native_users import NativeUsers
from runtime.processes.launcher.openings import Openings, Post
from runtime.processes.launcher.output import CreditGrants, OutputSpreader, credit_for
from runtime.processes.launcher.place import ClusterPlace, RequestHandler
from runtime.processes.launcher.places import PlaceMaker, RunPlaces
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.reaching import Reach, usual_launcher
from runtime.processes.launcher.samples import UNSAMPLED, Samples, Sampling
from runtime.processes.launcher.services import RunServices
from runtime.processes.launcher.stage_out import StageOut
from runtime.processes.launcher.standard_input import StandardInput
from runtime.processes.launcher.task_group import TaskGroup
from runtime.processes.launcher.verdicts import Verdicts
from runtime.processes.launcher.wait_reports import WaitReports
from runtime.processes.launcher.warm_start import WarmStart
from runtime.processes.watch import watch_of
from runtime.shown_text import LONGEST_CELL, shown
from runtime.transport.reactor import Reactor
from runtime.views.facts import MACHINE, CallsChecked, RunStarted, StateChanged
from runtime.views.stream import FactStream

if TYPE_CHECKING:
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly

SECRET_BYTES = 32

_log = logging.getLogger(__name__)


class Executor:
    """Makes the services of a run, and begins and ends them. `do` is for the engine's thread."""

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
        self._post = post
        self._facts = facts
        self._assembly = assembly
        self._codes = codes
        self._names = {part.path: part.identifier for part in plan.components().walk()}
        self._table: dict[str, ClusterPlace] = {}
        self._tasks = TaskGroup()
        self._host = Host(LAUNCHER, reactor)
        self._output = OutputSpreader(facts, post, replica_ranks(plan))
        allocator = CoAllocator(plan.deployment, waits_for_all=codes.idle)
        self.router = CallRouter(plan, self._table, self._host, assembly)
        maker = PlaceMaker(local, self.router, allocator, patience=start_timeout)
        for cluster in plan.deployment.clusters():
            self._table[cluster.identifier] = maker.place(cluster, reach, idle=codes.idle)

        def later(seconds: float, call: Callable[[], None]) -> None:
            reactor.later(seconds, lambda: post(call))

        def lost(place: ClusterPlace, words: str, fault: GridError | None) -> None:
            post(lambda: self._places.lose(place, words, fault))

        self._verdicts = Verdicts(watch_of(plan), self._table, reactor, lost)
        self._results = StageOut(plan, self._table, local, self._tasks, post)
        self._helpers = Helpers(self._table, local, self._tasks, post, self._output.helper)
        self._ranks = RankProcesses(
            plan, self._table, codes, later, post, patience=self._verdicts.settled_after
        )
        self._handshakes = Handshakes(
            plan, codes.idle, local=local, places=self._table, allocator=allocator,
            router=self.router, verdicts=self._verdicts, ranks=self._ranks,
            stage_out=self._results, tasks=self._tasks, post=post,
        )  # fmt: skip
        self.calls = IncomingCalls(codes, self._host, self._verdicts, post, assembly)
        self._places = RunPlaces(
            self._table, maker=maker, allocator=allocator, ranks=self._ranks,
            openings=Openings(plan, os.urandom(SECRET_BYTES), local, warm, self._tasks, post),
            handler=RequestHandler(reactor, self.calls.take, self._verdicts.ended, post),
            verdicts=self._verdicts, results=self._results, handshakes=self._handshakes,
            tasks=self._tasks, post=post, follow=self._listen_to,
        )  # fmt: skip
        self.waits = WaitReports(
            self._table.values(), later, facts, post,
            checks=CheckReports(facts, self._ranks.names), names=self._ranks.names,
            present=self._ranks.present, replicas=replica_ranks(plan),
            looks_behind=not (codes.is_steered or self._ranks.go_on),
        )  # fmt: skip
        self.samples = Samples(self._table.values(), self.waits, facts, later, sampling=samples)
        self._input = None if stdin is None else self._new_input(stdin)
        self._natives = NativeUsers()
        self._port_names = PortNames()
        self.deaths: list[Callable[[str, RankDeath], None]] = [
            self._ranks.rank_ended,
            self.waits.rank_ended,
            codes.rank_ended,
            lambda _, death: post(death),
        ]
        """Who needs to know of the death of a rank of a cluster, in any order."""
        self.services = self._new_services()
        self._connect(reactor)

    def _new_services(self) -> RunServices:
        services = RunServices((*self._plan.steps, *self._plan.closing), self._cannot_start)
        services.add({Go: self._go, Stop: self._stop})
        services.add(self._places.effects, self._places.starts)
        services.add(self._ranks.effects, self._ranks.starts)
        services.add(self._results.effects, self._results.starts)
        services.add(self._handshakes.effects, self._handshakes.starts)
        services.add(self.waits.effects(lambda: not self._ranks.is_over))
        services.add({}, self._helpers.starts)
        services.add({}, None if self._assembly is None else self._assembly.starts)
        return services

    def _connect(self, reactor: Reactor) -> None:
        """Let services that were made before the places reach them, and these be heard."""
        registry, router, table = self._codes.registry, self.router, self._table
        if self._assembly is not None:
            self._assembly.connect(self._host, table, self._post)
        registry.connect(router.news_to, router.mail_to, router.publish_coupled)
        self._codes.connect(lambda cluster: table[cluster].orders, reactor.later)
        for place in table.values():
            self._listen_to(place)

    def _new_input(self, stdin: int) -> StandardInput | None:
        # Replicas would have to read the same; each finds the end of the input.
        if FIRST_CLUSTER not in self._table or replica_ranks(self._plan):
            return None
        return StandardInput(stdin, self._table[FIRST_CLUSTER].orders.read)

    def _listen_to(self, place: ClusterPlace) -> None:
        """Take what the front-end of a place reports from now on."""
        self.calls.dispatch[place.identifier] = ClusterReports(
            place,
            workplace_of(self._plan.deployment, place.cluster).folder,
            self._post,
            codes=self._codes,
            assembly=self._assembly,
            output=self._output,
            credit=CreditGrants(credit_for(len(self._table)), place.orders.output_taken),
            stdin=self._input,
            facts=self._facts,
            handshakes=self._handshakes,
            ranks=self._ranks,
            waits=self.waits,
            router=self.router,
            natives=self._natives,
            names=self._port_names,
            deaths=self.deaths,
        ).dispatch_table()

    def __enter__(self) -> Self:
        """Return the executor, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what is left and let go of all places, in parallel.

        Each service ends, whatever one before it raises.
        """
        with ExitStack() as ends:
            for end in reversed((*self._ends(),)):  # a stack calls the last one first
                ends.callback(end)

    def _ends(self) -> Iterator[Callable[[], object]]:
        """Yield what ends the services, in this order."""
        yield self._ranks.end
        yield self._results.give_up
        if self._input is not None:
            yield self._input.close
        yield self._helpers.kill
        yield self._close_tunnels
        yield self._places.close
        yield self._host.close
        yield self._output.finish
        if self._assembly is not None:
            yield partial(self._show_result, self._assembly)

    def _close_tunnels(self) -> None:
        with ExitStack() as ends:  # a late cluster may have brought one until now
            for tunnels in reversed(self._handshakes.tunnels):
                ends.callback(tunnels.close)

    def _show_result(self, assembly: DeployedAssembly) -> None:
        if assembly.result is not None:
            self._output.line(ASSEMBLY, "stdout", assembly.result)

    def do(self, effect: Effect) -> None:
        """Let the service that owns the part do it, without waiting for what it leads to."""
        self.services.do(effect)

    def publish_figures(self, state: RunState) -> None:
        """Tell what was carried and what came home; log what nobody has received."""
        if state.run.life.phase is RunPhase.DONE:
            self.waits.log_unreceived()
        for place in self._table.values():
            for traffic in _traffic(place):
                self._facts.tell(place.identifier, traffic)
            for held in place.held_nodes():
                self._facts.tell(place.identifier, held)
        for tunnels in self._handshakes.tunnels:
            for carried in tunnels.traffic():
                self._facts.tell(MACHINE, carried)
        for results in self._results.results():
            self._facts.tell(results.cluster, results)
        if self._plan.deployment.checked:
            self._facts.tell(MACHINE, CallsChecked(self.waits.checks.calls))

    def show(self, change: Show) -> None:
        """Tell that a part of the machine is in another state."""
        name = self._names.get(change.path, change.path.removeprefix(f"{GRID}/"))
        detail = shown(change.detail, LONGEST_CELL)
        self._facts.tell(name, StateChanged(change.state, detail, change.walltime))

    # --- what concerns all services ---------------------------------------------------------------

    def _cannot_start(self, step: Step) -> None:
        self._post(StepFailed(step.name, f"{step.name}: this cannot be started"))

    def _go(self, _: Go) -> None:
        self._results.go(self._handshakes.missing)  # before a rank can write any
        self._facts.tell(MACHINE, RunStarted())
        self._codes.go()
        for place in self._table.values():
            place.orders.go()
        self._codes.open()  # to those who start codes: what was planned goes on already
        if self._assembly is not None:
            self._assembly.go()
        self.samples.begin()
        self._handshakes.go()

    def _stop(self, _: Stop) -> None:
        self.samples.end()
        self._ranks.end()
        self._verdicts.end()  # before front-ends go in silence
        self._helpers.kill()
        if self._assembly is None:
            self._places.stop()
        else:
            self._tasks.do("ending the assembly", partial(self._end_assembly, self._assembly))

    def _end_assembly(self, assembly: DeployedAssembly) -> None:
        """End the components before the processes in which they live."""
        try:
            assembly.end()
        finally:
            self._post(self._places.stop)


def _traffic(place: ClusterPlace) -> Iterator[RouteTraffic | ForwardedTraffic]:
    name, channel = place.cluster.path, place.channel
    if channel is not None and channel.messages:
        counts = channel.messages, channel.sent_bytes, channel.received_bytes
        yield RouteTraffic(f"launcher - {name}", *counts)
    if any(place.carried):
        yield RouteTraffic(f"{name} - its ranks", *place.carried)
    if any(place.relay_figures):
        yield ForwardedTraffic(name, *place.relay_figures)
