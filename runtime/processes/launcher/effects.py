"""Doing what the machine of a run says: the only part of the engine that touches the world."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from gcm.errors import NoSuchComponentError
from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.coupling.deployed_codes import Codes
from runtime.coupling.words import DRIVER, cluster_of, rank_path
from runtime.deployment.model import ASSEMBLY, DeployedCluster
from runtime.deployment.planning.opening import levels_at
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import Step, StepKind
from runtime.errors import GridError
from runtime.hosting.host import Host
from runtime.launchers.base import Command
from runtime.launchers.errors import LaunchError
from runtime.launchers.local import LocalLauncher
from runtime.launchers.segments import remove_segments
from runtime.machine.authority import APPEALS, MOST_BYTES, is_for_launcher
from runtime.machine.calls import NotServed, Served, stub
from runtime.machine.contracts import (
    CONTRACTS,
    CouplingNews,
    Heartbeats,
    Mail,
)
from runtime.machine.deaths import RankDeath
from runtime.machine.paths import CLUSTERING, GRID, LAUNCHER, RANKS, clustering_path
from runtime.membership.whereabouts import RankArrival
from runtime.processes.front_end.rank_input import FIRST_CLUSTER
from runtime.processes.launcher.cluster_reports import ClusterReports
from runtime.processes.launcher.crew import Crew, Failed
from runtime.processes.launcher.helpers import Helper, kill_all
from runtime.processes.launcher.homecoming import Homecoming
from runtime.processes.launcher.openings import Openings, Post
from runtime.processes.launcher.output import (
    MOST_ROOM,
    OutputSpreader,
    Room,
    room_for,
)
from runtime.processes.launcher.place import ClusterPlace, Ears, QueuedPlace, RemotePlace
from runtime.processes.launcher.reaching import Reach, usual_launcher
from runtime.processes.launcher.standard_input import StandardInput
from runtime.processes.launcher.verdicts import Verdicts
from runtime.processes.launcher.wait_reports import (
    ProcessOfRank,
    Snapshot,
    WaitReports,
    as_text,
)
from runtime.processes.launcher.warm_start import WarmStart
from runtime.processes.member_host import BETWEEN_FRONT_ENDS, is_to_launcher, sender_of
from runtime.processes.watch import watch_of
from runtime.rank_name import RankName
from runtime.run.events import (
    Announce,
    Condemn,
    CondemnRank,
    Discard,
    Effect,
    Explain,
    Explained,
    GiveUp,
    Go,
    Kill,
    LeftBehind,
    Show,
    Start,
    StepFailed,
    StepUp,
    Stop,
    Stuck,
    Suspected,
    TellUnreachable,
)
from runtime.run.hierarchy import host_of, hosted_identifiers
from runtime.run.outcome import ForwardedTraffic, RouteTraffic
from runtime.run.outline import outline_of, replica_ranks
from runtime.run.replacements import (
    FIRST,
    EndRank,
    ReplacementEffect,
    Replacements,
    StartAgain,
    TellMoved,
)
from runtime.run.run_life import RunPhase
from runtime.run.state import RunState
from runtime.run.suspicions import Suspicion, Suspicions
from runtime.shown_text import LONGEST_CELL, shown
from runtime.topology import RankNames
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.errors import ChannelClosed, TransportError
from runtime.transport.keys import member_name, parsed
from runtime.transport.messages import Target
from runtime.transport.reactor import Reactor
from runtime.views.facts import MACHINE, RunStarted, StateChanged
from runtime.views.stream import FactStream, ListenerRaised

if TYPE_CHECKING:
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly

SECRET_BYTES = 32

_OF_ANY_INCARNATION = {
    "lines", "node_lines", "input_wanted", "rank_exchanged", "carried", "forwarded",
}  # fmt: skip
"""Reports that are taken of former incarnations of ranks, too: output and figures."""

REMOVE_TIMEOUT = 5.0

_HOMELESS = (
    "could not be started again: its front-end is lost. The front-end of a cluster survives the "
    "hosts of its ranks where it runs on another one: name these in <nodes>"
)

_ABOUT_RANKS = {
    "rank_here", "rank_ready", "rank_ended", "rank_aborted", "rank_exchanged", "rank_frozen",
}  # fmt: skip
"""Operations whose second argument is a rank of the cluster that tells it."""

_log = logging.getLogger(__name__)


class Executor:
    """Owns the places and helpers of a run. `do` is called by the engine's thread only."""

    _stopping = False

    def __init__(
        self,
        plan: DeploymentPlan,
        local: LocalLauncher,
        reactor: Reactor,
        facts: FactStream,
        post: Post,
        *,
        codes: Codes,
        assembly: DeployedAssembly | None = None,
        warm: WarmStart | None = None,
        stdin: int | None = None,
        reach: Reach = usual_launcher,
    ) -> None:
        self._plan = plan
        self._local = local
        self._post = post
        self._reactor = reactor
        self._crew = Crew()
        self._facts = facts
        self._names = {part.path: part.identifier for part in plan.components().walk()}
        self._output = OutputSpreader(facts, post, replica_ranks(plan))
        self._openings = Openings(plan, os.urandom(SECRET_BYTES), local, warm, self._crew, post)
        self._host = Host(LAUNCHER, reactor)
        self._steps = {step.name: step for step in (*plan.steps, *plan.closing)}
        self._places = {
            cluster.identifier: _place_of(cluster, reach)(
                cluster,
                local,
                partial(self._onward, cluster.identifier),
                idle=codes.idle,
            )
            for cluster in plan.deployment.clusters()
        }
        self._verdicts = Verdicts(watch_of(plan), self._places, reactor, self._is_lost)
        self._ears = Ears(reactor, self._hear, self._verdicts.ended, post)
        self._homecoming = Homecoming(plan, self._places, local, self._crew, post)
        size = room_for(len(self._places))
        self._rooms = {
            name: Room(size, place.orders.output_taken) for name, place in self._places.items()
        }
        self._input = None
        # Replicas would have to read the same; each finds the end of the input.
        if stdin is not None and FIRST_CLUSTER in self._places and not replica_ranks(plan):
            self._input = StandardInput(stdin, self._places[FIRST_CLUSTER].orders.read)
        self._handshakes: list[str] = []
        self._helpers: list[Helper] = []
        self._arrivals: dict[str, RankArrival] = {}
        self._replacements = Replacements(sum(one.ranks for one in plan.deployment.clusters()))
        self._replaceable, self._lost_places = _ranks_that_go_on(plan), set[str]()
        self._suspicions = Suspicions(self._replacements.incarnation)
        self._announced: dict[str, RankDeath] = {}
        self._assembly = assembly
        if assembly is not None:
            assembly.connect(self._host, self._places, post)
        self.waits = WaitReports(
            self._places.values(),
            self._later,
            None
            if codes.is_steered or self._replaceable
            else lambda why, are_all: post(LeftBehind(why, are_all)),
            self._processes,
            replicas=replica_ranks(plan),
            stuck=lambda ranks: post(Stuck(tuple(ranks))),
            names=self.names,
        )
        self._codes = codes
        codes.hub.connect(self._news_to, self._mail_to, self._tell_where_coupled)
        codes.connect(
            lambda cluster: self._places[cluster].orders,
            reactor.later,
        )
        self._served = {name: self._reports(place) for name, place in self._places.items()}

    def _reports(self, place: ClusterPlace) -> Served:
        return ClusterReports(
            place,
            self,
            self._post,
            codes=self._codes,
            assembly=self._assembly,
            output=self._output,
            room=self._rooms[place.identifier],
            facts=self._facts,
            arrivals=self._arrivals,
            waits=self.waits,
            parts=self._parts_at(place),
        ).served()

    def _processes(self) -> dict[str, ProcessOfRank]:
        """Return the processes of ranks that go on without lost ones."""
        known, ranks = self._replacements, (set[str]().union(*self._replaceable.values()))
        return {one: ProcessOfRank(known.state(one), known.incarnation(one)) for one in ranks}

    def _parts_at(self, place: ClusterPlace) -> list[str]:
        """Return the parts of the machine whose components live in the front-end of a place."""
        levels = levels_at(self._plan.deployment, place.cluster.position)
        return hosted_identifiers(place.identifier, levels)

    def _later(self, seconds: float, then: Callable[[], None]) -> None:
        """Do something on the engine's thread after some time."""
        self._reactor.later(seconds, lambda: self._post(then))

    def __enter__(self) -> Self:
        """Return the executor, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what is left and let go of all places, in parallel."""
        self._stopping = True
        self._homecoming.give_up()
        if self._input is not None:
            self._input.close()
        kill_all(self._helpers)
        for place in self._places.values():
            place.kill()
            self._crew.do(f"closing {place.cluster.path}", partial(self._close, place))
        self._crew.join()
        self._host.close()
        self._output.finish()
        if self._assembly is not None and self._assembly.result is not None:
            self._output.say(ASSEMBLY, "stdout", self._assembly.result)

    def _close(self, place: ClusterPlace) -> None:
        """Let go of a place, and remove what killed ranks left if its front-end could not."""
        paths = {
            path
            for rank, arrival in self._arrivals.items()
            if RankName.parse(rank).cluster == place.identifier
            for path in arrival.segments
        }
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
                self._homecoming.discard(self._steps[step])
            case Go():
                self._go()
            case Stop():
                self._stop()
            case Announce(death, is_new):
                self._announce(death, is_new=is_new)
            case Condemn(cluster, why):
                self._verdicts.condemn(self._places[cluster], why)
            case CondemnRank(rank, why):
                self._condemn_rank(rank, why)
            case TellUnreachable(by, rank, why):
                self._tell_unreachable(by, rank, why)
            case Explain(is_brief):
                self._explain_before_end(is_brief=is_brief)
            case GiveUp():
                self._homecoming.give_up()
            case Kill():
                for place in self._places.values():
                    place.was_lost = True
                    place.kill()

    def _announce(self, death: RankDeath, *, is_new: bool) -> None:
        if not is_new:
            self._send_death(self._announced[death.who])
            return
        rank = death.who
        arrival = self._arrivals.get(rank)
        self._announced[rank] = dated = replace(
            death.brief,
            rank=replace(death.rank, incarnation=self._replacements.incarnation(rank)),
            host="" if arrival is None else arrival.host,
            when=time.strftime("%H:%M:%S"),
        )
        effects = self._replacements.ended(rank)
        self._replace(one for one in effects if isinstance(one, TellMoved))  # else nobody knows it
        self._send_death(dated)
        self._replace(one for one in effects if not isinstance(one, TellMoved))

    def _send_death(self, death: RankDeath) -> None:
        for place in self._places.values():
            if not place.was_lost:
                place.orders.lost([death.plain])

    def _condemn_rank(self, rank: str, why: str) -> None:
        said = "%s is ended: others cannot reach it, and not all can go on: %s"
        _log.warning(said, self.names.name(rank), why)
        self._places[RankName.parse(rank).cluster].orders.end_rank(rank)

    def _tell_unreachable(self, by: str, rank: str, why: str) -> None:
        name = replace(RankName.parse(rank), incarnation=FIRST)
        death = replace(RankDeath.lost(str(name), why), when=time.strftime("%H:%M:%S"))
        self._places[RankName.parse(by).cluster].orders.lost([death.plain | {"lost_to": by}])

    def replace_ranks(self, cluster: str, lost: list[str]) -> None:
        """Start ranks again in place of lost ones, unless the run ends.

        A cluster may ask for ranks of its own application, if that survives losses.
        """
        if not self._stopping:
            known = self._replaceable.get(self._places[cluster].cluster.application, ())
            self._replace(self._replacements.wanted(one for one in lost if parsed(one)[0] in known))

    def rank_ready(self, rank: str, arrival: RankArrival) -> None:
        """Let all know where a rank is that was started again."""
        self._suspicions.begins(rank)
        self._replace(self._replacements.ready(rank, arrival))

    def _replace(self, effects: Iterable[ReplacementEffect]) -> None:
        for effect in effects:
            match effect:
                case StartAgain(rank, incarnation):
                    self._start_again(rank, incarnation)
                case EndRank(rank):
                    self._places[RankName.parse(rank).cluster].orders.end_rank(rank)
                case TellMoved(report):
                    for place in self._places.values():
                        place.orders.moved([report])

    def _start_again(self, rank: str, incarnation: int) -> None:
        cluster = RankName.parse(rank).cluster
        if self._codes.incarnation(cluster) > 1:
            text = "could not be started again alone: its code was itself started again"
            self._post(RankDeath.lost(rank, text))
        elif cluster in self._lost_places:
            self._post(RankDeath.lost(rank, _HOMELESS))
        else:
            self._places[cluster].orders.start_again(rank, incarnation)

    def tell_figures(self, state: RunState) -> None:
        """Tell what was carried and what came home; log what nobody has received."""
        if state.state is RunPhase.DONE:
            self.waits.tell_unreceived()
        for place in self._places.values():
            for traffic in _traffic(place):
                self._facts.tell(place.identifier, traffic)
        for results in self._homecoming.results():
            self._facts.tell(results.cluster, results)

    def show(self, change: Show) -> None:
        """Tell that a part of the machine is in another state."""
        name = self._names.get(change.path, change.path.removeprefix(f"{GRID}/"))
        self._facts.tell(name, StateChanged(change.state, shown(change.detail, LONGEST_CELL)))

    # --- effects ----------------------------------------------------------------------------------

    def _start(self, step: Step) -> None:
        cluster = step.name.partition(":")[2]
        match step.kind:
            case StepKind.FRONT_END:
                self._openings.open(self._places[cluster], self._places.values(), self._ears)
            case StepKind.RANKS if self._codes.idle:
                self._post(StepUp(step.name))
            case StepKind.RANKS:
                self._places[cluster].orders.start_ranks(self._codes.incarnation(cluster))
            case StepKind.HANDSHAKE:
                self._handshakes.append("" if cluster == "grid" else cluster)
                self._shake_hands()
            case StepKind.PROCESS:
                self._crew.do(step.name, lambda: self._help(step), self._failed(step))
            case StepKind.FETCH:
                self._homecoming.fetch(step)
            case StepKind.NODE | StepKind.ASSEMBLE if self._assembly is not None:
                self._assembly.start(step)
            case _:
                self._post(StepFailed(step.name, f"{step.name}: this cannot be started"))

    def _go(self) -> None:
        self._homecoming.go()
        self._facts.tell(MACHINE, RunStarted())
        self._codes.go()
        for place in self._places.values():
            place.orders.go()
        self._codes.open()
        if self._assembly is not None:
            self._assembly.go()

    def _stop(self) -> None:
        self._stopping = True
        self._verdicts.end()
        kill_all(self._helpers)
        if self._assembly is None:
            self._stop_places()
        else:
            self._crew.do("ending the assembly", partial(self._end_assembly, self._assembly))

    def _end_assembly(self, assembly: DeployedAssembly) -> None:
        """End the components before the processes in which they live."""
        try:
            assembly.end()
        finally:
            self._post(self._stop_places)

    def _stop_places(self) -> None:
        for place in self._places.values():
            if place.is_up:
                place.orders.output_taken(MOST_ROOM)  # for last words, whether they are read or not
                place.orders.stop()
            else:
                self._crew.do(f"giving up {place.cluster.path}", place.abort)

    def _explain_before_end(self, *, is_brief: bool) -> None:
        def explained(seen: Snapshot) -> None:
            _tell(self.waits.untold(seen))
            self._post(Explained())

        if is_brief:
            self.waits.glance(lambda: self._post(Explained()), lambda: not self._stopping)
        else:
            self.waits.look(explained, with_stacks=True)

    def explain(self) -> None:
        """Tell what all ranks are doing."""
        self.waits.look(_tell, with_stacks=True)

    def _failed(self, step: Step) -> Failed:
        """Return what tells that a step failed."""
        return lambda fault: self._post(StepFailed(step.name, str(fault)))

    def _is_lost(self, place: ClusterPlace, words: str, fault: GridError | None) -> None:
        self._post(lambda: self._lose(place, words, fault))

    def _lose(self, place: ClusterPlace, words: str, fault: GridError | None) -> None:
        """Do what a verdict leads to: the run ends, or waits for one place less."""
        if fault is not None:
            place.expel()  # what is not heard of any more must not come back
        self._lost_places.add(place.identifier)
        for rank in self._replacements.joining(place.identifier):
            self._post(RankDeath.lost(rank, _HOMELESS))
        if self._stopping:
            self._openings.closed(place)
        else:
            self._openings.lost(place, words, fault)

    def _help(self, step: Step) -> None:
        launcher = self._places[step.by.partition(":")[2]].launcher if step.by else self._local
        self._helpers.append(Helper(step, launcher, self._post, self._output.helper))

    # --- messages between ranks, or between ranks and the program here -------------------------

    def _way_to(self, path: str) -> Channel | None:
        """Return the way to a rank or a component; None for what is for the launcher itself."""
        cluster = cluster_of(path) or self._hosting(path)
        place = self._places.get(cluster or "")
        if place is not None:
            return place.channel
        way = self._host.routes.find(path)
        return way if isinstance(way, Channel) else None

    def call(self, invocation: Invocation) -> Future[Any]:
        """Call a component of the machine from any thread."""
        way = self._way_to(invocation.component)
        if way is not None:
            return way.call(invocation)
        future: Future[Any] = Future(invocation)
        future.set_exception(
            ChannelClosed(
                "there is no such component, or no route to it", place=invocation.component
            )
        )
        return future

    def _onward(self, cluster: str, target: Target) -> Channel | None:
        """Return the way for what comes from a cluster, in whose name its ranks alone may call."""
        path = target.component
        is_mail = path.startswith(RANKS) or is_for_launcher(target)
        if is_mail and cluster_of(rank_path(target.client)) != cluster:
            raise TransportError(f"{cluster} calls {target} in the name of {target.client!r}")
        if path.startswith(f"{GRID}/") and not self._may_call(cluster, target):
            raise TransportError(f"{cluster} may not call {target} as {target.client!r}")
        is_machine = is_mail or path.startswith(f"{GRID}/") or is_to_launcher(target)
        has_nodes = self._assembly is not None and self._assembly.has_nodes_at(cluster)
        if not is_machine and not has_nodes:  # it could send what is opened where components live
            raise TransportError(f"{cluster} may not call {target}: no component lives there")
        return self._way_to(path)

    def _may_call(self, cluster: str, target: Target) -> bool:
        """Tell whether the front-end of a cluster may call a clustering component elsewhere."""
        is_clustering = target.component.endswith(f"/{CLUSTERING}")
        is_meant = is_clustering and target.interface in BETWEEN_FRONT_ENDS
        return is_meant and self._hosting(sender_of(target)) == cluster

    def _news_to(self, rank: str) -> CouplingNews:
        return stub(CouplingNews, partial(self._tell_rank, rank_path(rank), LAUNCHER, now=True))

    def _tell_where_coupled(self, report: dict[str, Any]) -> None:
        for place in self._places.values():
            place.orders.coupled(report)

    def _mail_to(self, path: str) -> Mail:
        return stub(Mail, partial(self._tell_rank, path, DRIVER, now=False))

    def _tell_rank(
        self,
        path: str,
        client: str,
        interface: str,
        operation: str,
        args: tuple[Any, ...],
        *,
        now: bool,
    ) -> None:
        call = Invocation(path, interface, operation, args, client=client)
        self._places[cluster_of(path)].note(call, now=now)

    def _shake_hands(self) -> None:
        """Let parts of the machine wait for their members, but not before all front-ends serve."""
        if all(one.is_up for one in self._places.values()):
            self._verdicts.begin()
            waiting, self._handshakes = self._handshakes, []
            for part in waiting:
                self._host_of(part).orders.expect(part, 0, self._members(part))

    def _host_of(self, part: str) -> ClusterPlace:
        """Return the place that hosts the clustering component of a part."""
        cluster = self._hosting(clustering_path(part))
        assert cluster is not None
        return self._places[cluster]

    def _hosting(self, path: str) -> str | None:
        """Return the cluster whose front-end hosts the component at a path."""
        deployment = self._plan.deployment
        leaders = [site.leader for site in deployment.sites]
        return host_of(path, leaders, deployment.leader)

    def _members(self, part: str) -> list[str]:
        """Return the members of a part that take part in the first round."""
        if part in self._places:
            ranks = 0 if self._codes.idle else self._places[part].cluster.ranks
            return [f"{part}:{rank}" for rank in range(ranks)]
        if part:
            return [one for one in self._places if one.partition(":")[0] == part]
        return [str(number) for number in range(len(self._plan.deployment.sites))]

    # --- what front-ends say ----------------------------------------------------------------------

    def _hear(
        self, place: ClusterPlace, request: IncomingCall
    ) -> Future[Any] | IncomingCall | None:
        """Pass what a front-end tells on to the engine's thread, in order."""
        target = request.target
        if cluster_of(target.component):  # of no rank that is there, so it must not be opened here
            raise NoSuchComponentError("there is no such rank here", component=target.component)
        if target.interface == APPEALS:
            self._post(lambda: self._understand_appeal(place, request))
            return None
        if is_for_launcher(target):
            args = request.invocation().args
            hub, called = self._codes.hub, (target.component, target.interface, target.operation)
            hub.hear(target.client, *called, args)
            return None
        if not is_to_launcher(target):
            if self._assembly is None:
                raise NoSuchComponentError("nothing is served here", component=target.component)
            return self._host.serve(request)
        if target.interface == CONTRACTS[Heartbeats]:
            self._verdicts.hear(place, request.invocation().args)
            return None
        self._post(lambda: self._understand(place, request))
        return None

    def _understand(self, place: ClusterPlace, request: IncomingCall) -> None:
        target = request.target
        try:
            args = request.invocation().args
            cluster, incarnation = parsed(args[0])
            if cluster != place.identifier:
                raise NotServed(f"{target} was called in the name of another member")
            is_past = 0 < incarnation < self._codes.incarnation(cluster)
            if is_past and target.operation not in _OF_ANY_INCARNATION:
                _log.info("what ranks of %s told in incarnation %d is over", cluster, incarnation)
                return
            if target.operation in _ABOUT_RANKS and cluster_of(rank_path(args[1])) != cluster:
                raise NotServed(f"{target} is told of a rank of another cluster")
            told = (cluster, *args[1:])
            self._served[cluster].call(target.interface, target.operation, told)
        except NotServed as fault:
            fault.place = place.cluster.path
            _log.error("%s", fault)
        except ListenerRaised:
            raise
        except Exception as fault:  # without what it said the run could wait for ever
            _log.exception("what %s says is not understood: %s", place.cluster.path, target)
            words = f"{target} is not understood: {type(fault).__name__}: {fault}"
            self._verdicts.ended(place, words)

    def _understand_appeal(self, place: ClusterPlace, request: IncomingCall) -> None:
        """Carry out what a rank asks; what is not understood ends nothing, and nobody waits.

        The rank counts its incarnations with those of its code, the state of the run without them.
        """
        target, size = request.target, request.frame.size
        rank, incarnation = parsed(target.client)
        started = self._codes.incarnation(place.identifier)
        try:
            if size > MOST_BYTES:
                raise NotServed(f"{target} was called with {size} bytes")
            args = request.invocation().args
            if args[:1] != (target.client,):
                raise NotServed(f"{target} was called in the name of another member")
            if incarnation < started:
                _log.info("what %s asked in incarnation %d is over", rank, incarnation)
                return
            by = member_name(rank, incarnation - started + 1)
            served = self._served[place.identifier]
            served.call(APPEALS, target.operation, (by, *args[1:]))
        except Exception as fault:
            text = "what rank %s of %s asks of the launcher is not understood: %s"
            _log.warning(text, rank.rpartition(":")[2], place.cluster.path, fault)

    @property
    def names(self) -> RankNames:
        """How messages name ranks."""
        return self._plan.deployment.rank_names()

    def read_input(self, place: ClusterPlace, size: int) -> None:
        """Read what the first rank wants to read, if the run has an input at all."""
        if self._input is None:
            place.orders.read(b"")
        elif not self._stopping:
            if self._input.is_terminal:
                place.orders.show_prompts()
            self._input.want(size)

    def suspected(self, by: str, rank: str, why: str) -> None:
        """Let it be decided who is lost, once all else is known that could explain it."""
        self._decide_later(self._suspicions.add(by, rank, why))

    def trusted(self, by: str, rank: str) -> None:
        """Record that a rank is reached again."""
        self._suspicions.withdraw(by, rank)

    def stands_still(self, rank: str, *, goes_on: bool) -> None:
        """Decide nothing about a rank that is stopped, until a while after that."""
        if not goes_on:
            self._suspicions.stopped(rank)
            return
        for one in self._suspicions.goes_on(rank):
            self._decide_later(one)

    def _decide_later(self, suspicion: Suspicion) -> None:
        self._later(self._verdicts.known_after, partial(self._decide, suspicion))

    def _decide(self, one: Suspicion) -> None:
        if self._suspicions.is_due(one):
            by, rank = parsed(one.by)[0], parsed(one.rank)[0]
            self._post(Suspected(by, rank, one.why, self._suspicions.blamed(one)))

    def front_end_up(self, place: ClusterPlace) -> None:
        """Once all front-ends are there, let their components wait for their members."""
        place.is_up = True
        self._rooms[place.identifier].taken(0)
        if self._stopping:
            place.orders.stop()
        self._shake_hands()


def _place_of(cluster: DeployedCluster, reach: Reach) -> Callable[..., ClusterPlace]:
    if cluster.batch is not None:
        return QueuedPlace
    return ClusterPlace if cluster.is_local else partial(RemotePlace, reach=reach)


def _ranks_that_go_on(plan: DeploymentPlan) -> dict[str, set[str]]:
    """Return the ranks of each application that survives losses."""
    outline = outline_of(plan)
    found: dict[str, set[str]] = {}
    for cluster in plan.deployment.clusters():
        if cluster.identifier in outline.survivors:
            found.setdefault(cluster.application, set()).update(outline.ranks[cluster.identifier])
    return found


def _traffic(place: ClusterPlace) -> Iterator[RouteTraffic | ForwardedTraffic]:
    name, channel = place.cluster.path, place.channel
    if channel is not None and channel.messages:
        counts = channel.messages, channel.sent_bytes, channel.received_bytes
        yield RouteTraffic(f"launcher - {name}", *counts)
    if any(place.carried):
        yield RouteTraffic(f"{name} - its ranks", *place.carried)
    if any(place.relay_figures):
        yield ForwardedTraffic(name, *place.relay_figures)


def _tell(seen: Snapshot) -> None:
    _log.warning("%s", "\n".join(as_text(seen)))
