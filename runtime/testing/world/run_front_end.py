"""The front-end of a cluster in the world of a run: production's, over stubs of processes.

Its ranks report at a gate without sockets, its job starts actors in place of processes; who is
where, what becomes of ranks and their output, the rounds and the heartbeats are production's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, cast

from gcm.invocation import Invocation
from runtime.launchers.base import Exit, OutputStream
from runtime.launchers.forked_guard import ForkedGuard
from runtime.machine.calls import CallRefused, DispatchTable, Sometimes, reports_of, stub
from runtime.machine.clustering import FROM_RANKS, Clustering
from runtime.machine.contracts import (
    CONTRACTS,
    Appeals,
    Control,
    Facts,
    Heartbeats,
    Membership,
    Orders,
    Routes,
    Views,
)
from runtime.machine.paths import above, hosted_identifiers
from runtime.machine.table import decoded
from runtime.membership.run_directory import Bootstrap
from runtime.membership.whereabouts import report
from runtime.native_mpi import Job, JobPart
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.front_end.code_runs import CodeRuns
from runtime.processes.front_end.components import ClusterClustering, Components
from runtime.processes.front_end.gate import ENDS, Gate
from runtime.processes.front_end.job_ends import IN_TIME
from runtime.processes.front_end.job_output import JobOutput
from runtime.processes.front_end.main import GRACE
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.processes.front_end.output_handover import OutputHandover
from runtime.processes.front_end.ranks_job import RanksJob
from runtime.processes.front_end.ranks_run import RanksRun
from runtime.processes.front_end.shared_routes import SharedRoutes
from runtime.processes.heartbeats import HeartbeatLoop
from runtime.processes.watch import ARBITER
from runtime.rank_name import RankName
from runtime.testing.world.engine import Actor, ActorBegun, CallDue, Effect, Event, World
from runtime.testing.world.reactors import WorldReactor
from runtime.testing.world.run_told import (
    ContractCalled,
    KillRanks,
    ProcessEnded,
    RankCalled,
    RankGone,
    RankHungUp,
    RankMayEnd,
    RankVanished,
    SpawnRank,
)
from runtime.testing.world.told import LAUNCHER, TellActor, front_end_of
from runtime.transport.channel import Channel
from runtime.transport.keys import member_name

HEALTH = "health-controller"
"""The interface at which a front-end hears heartbeats of others."""


def process_of(rank: str, incarnation: int) -> str:
    """Return the name of the actor that is a process of a rank."""
    return member_name(rank, incarnation)


def pid_of(rank: str, incarnation: int) -> int:
    """Return the number of that process on its host."""
    return 1000 * (RankName.parse(rank).rank + 1) + incarnation


_decoded = lru_cache(4)(decoded)
"""All front-ends read the same table: it is read once, as nobody changes its reports."""


class _WorldLine:
    """The connection of a rank, as far as production looks at it."""

    received_bytes = 0
    is_held = False

    def __init__(self) -> None:
        self.is_closed = False

    def when_closed(self, call: Callable[[Any], None]) -> None:
        """Forget it: the gate tells who has left."""


class WorldGate(Gate):
    """Where ranks report. It admits whom production's would, by incarnation, and each once."""

    def __init__(self, front_end: RunFrontEnd, run: RanksRun, ranks: Sequence[str]) -> None:
        self._front_end = front_end
        self._run = run
        self._incarnations = dict.fromkeys(ranks, run.incarnation)
        self._lines: dict[str, _WorldLine] = {}
        self._told_end: set[str] = set()
        self._is_deaf = False
        self.released = False
        self.address = "a gate"

    def publish_key(self, bootstrap: Bootstrap, *, alone: str = "") -> None:
        """Write nothing."""

    def release(self) -> None:
        """Let ranks run."""
        self.released = True

    def expect_again(self, rank: str, incarnation: int) -> str:
        """Let another process of a rank in."""
        self._incarnations[rank] = incarnation
        self.dismiss(rank)
        return self.address

    def expect_no_more(self, rank: str, incarnation: int) -> None:
        """Do not let it in any more."""
        if self._incarnations.get(rank) == incarnation and rank not in self._lines:
            self._incarnations[rank] = -1

    def dismiss(self, rank: str) -> None:
        """Hear nothing more of a rank, and hang up."""
        line = self._lines.pop(rank, None)
        self._told_end.discard(rank)
        if line is not None:
            line.is_closed = True

    def interfaces(self, rank: str) -> tuple[Views, Control] | None:
        """Return the views and the control of one rank; None if it is not here."""
        if rank not in self._lines:
            return None
        send = partial(self._front_end.call_rank, rank)
        return stub(Views, send), stub(Control, send)

    def forget(self) -> None:
        """Hear nothing more."""
        self._is_deaf = True

    def routes(self, rank: str) -> Routes | None:  # noqa: ARG002 - as production has it
        """Return nothing: no rank here has routes."""
        return None

    def routes_of_others(self, rank: str) -> list[Routes]:  # noqa: ARG002 - as above
        """Return nothing."""
        return []

    def close(self) -> None:
        """Let nobody in any more."""
        self._incarnations.clear()

    def find(self, rank: str) -> Channel | None:
        """Return the way to a rank."""
        return cast("Channel | None", self._lines.get(rank))

    @property
    def is_empty(self) -> bool:
        """Whether nothing more can come."""
        return all(one.is_closed for one in self._lines.values())

    @property
    def connected(self) -> list[str]:
        """The ranks of which more may come."""
        return [name for name, one in self._lines.items() if not one.is_closed]

    @property
    def is_held(self) -> bool:
        """Return false."""
        return False

    @property
    def traffic(self) -> tuple[int, int, int]:
        """Return nothing."""
        return 0, 0, 0

    def incarnation_of(self, rank: str) -> int:
        """Return which process of a rank is here."""
        return self._incarnations.get(rank, 0)

    def take(self, told: RankCalled | RankHungUp) -> None:
        """Take what a process of a rank tells."""
        if self._is_deaf or told.incarnation != self._incarnations.get(told.rank):
            return
        line = self._lines.get(told.rank)
        if isinstance(told, RankHungUp):
            if line is not None and not line.is_closed:
                self._gone(told, line)
        elif line is None:
            line = self._lines[told.rank] = _WorldLine()
            self._run.rank_here(told.rank, cast(Channel, line))
        elif not line.is_closed and told.operation:
            if told.operation in ENDS:
                self._told_end.add(told.rank)
            self._front_end.dispatch_rank(told)

    def _gone(self, told: RankHungUp, line: _WorldLine) -> None:
        line.is_closed = True
        if told.rank not in self._told_end:
            self._run.rank_left(told.rank, is_silence=told.is_silence)
        if self.is_empty:
            self._run.all_left()


class WorldJob(RanksJob):
    """A job whose processes are actors: an `mpiexec`, or one for each host, that behaves."""

    def __init__(
        self,
        job: Job,
        front_end: RunFrontEnd,
        listener: RanksRun,
        credit: OutputCredit,
    ) -> None:
        self.output = JobOutput(job, listener, front_end.reactor, credit)
        self._job = job
        self._run = listener
        self._front_end = front_end
        self._living: dict[tuple[str, int], JobPart] = {}
        self._first: Exit | None = None
        self._is_stopping = self._is_told = False
        self.has_started = self.can_start_again = False
        self.is_managed = False
        self.may_lose_hosts = False

    def start(self) -> None:
        """Start all ranks."""
        self.has_started = self.can_start_again = True
        for part in self._job.parts:
            hosts = [host for host, ranks in part.hosts for _ in range(ranks)]
            for place in range(part.ranks):
                host = hosts[place] if hosts else ""
                self._spawn(part, part.first + place, self._run.incarnation, host)

    def _spawn(self, part: JobPart, number: int, incarnation: int, host: str) -> None:
        rank = f"{self._run.cluster}:{number}"
        self._living[rank, incarnation] = part
        self._front_end.do(SpawnRank(rank, incarnation, host))

    def are_some_missing(self) -> bool:
        """Return false: nobody counts."""
        return False

    def ranks_beside(self, number: int) -> int:
        """Return how many ranks are in the same native world."""
        part = next(p for (rank, _), p in self._living.items() if rank.endswith(f":{number}"))
        return part.ranks

    def watch_helpers(self) -> None:
        """Watch nothing: there is no process between."""

    @property
    def starter(self) -> str:
        """What messages call it."""
        return "mpiexec"

    def start_again(self, number: int, incarnation: int, host: str) -> None:
        """Start one rank again."""
        hosts = ((host, 1),) if host else ()
        self._spawn(JobPart(number, 1, hosts, incarnation), number, incarnation, host)

    def give_up(self, number: int, incarnation: int) -> None:
        """Kill one that was not ready in time."""
        self.kill_rank(pid_of(f"{self._run.cluster}:{number}", incarnation))

    def kill_rank(self, pid: int) -> None:  # type: ignore[override]  # of this world
        """Kill a rank of this host."""
        self._front_end.do(KillRanks(self._run.cluster, pid))

    def crash_of(self, number: int) -> str:  # noqa: ARG002 - as production has it
        """Return nothing: nobody crashes."""
        return ""

    def why_killed(self, host: str) -> str:  # noqa: ARG002 - as above
        """Return nothing."""
        return ""

    def stop(self) -> None:
        """Kill all ranks."""
        self._is_stopping = True
        self._front_end.do(KillRanks(self._run.cluster))
        if self.has_started:
            self._front_end.reactor.soon(self._end_with_the_last)

    def close(self) -> None:
        """Kill all ranks."""
        self._is_stopping = True
        self._front_end.do(KillRanks(self._run.cluster))

    def gone(self, told: RankGone) -> None:
        """Take the end of a process, as its parent tells it."""
        if self._living.pop((told.rank, told.incarnation), None) is None:
            return
        number = RankName.parse(told.rank).rank
        self.output.ends.process_ended(number, told.status, told.at, told.incarnation)
        if told.status and not self._job.goes_on and not self._is_stopping:
            code = told.status >> 8 or 128 + told.status
            self._first = self._first or Exit(code=code, at=self._front_end.reactor.now())
            self._is_stopping = True  # it cleans up
            self._front_end.do(KillRanks(self._run.cluster))
        if not self._job.goes_on or self._is_stopping:
            self._end_with_the_last()

    def vanished(self, host: str) -> None:
        """Take that nothing is heard any more of a host: its `mpiexec`, or that of all, ends."""
        if not self._job.for_each_host:
            self._first = self._first or Exit(code=255, at=self._front_end.reactor.now())
            self._is_stopping = True
            self._front_end.do(KillRanks(self._run.cluster))
            self._living = {name: one for name, one in self._living.items() if name in self._here}
        for name, part in [one for one in self._living.items() if one[1].host == host]:
            del self._living[name]
            if self.may_lose_hosts and not self._is_stopping:
                self.output.ends.host_lost(part, f"the mpiexec for {host} ended with 255")
        if self._is_stopping:
            self._end_with_the_last()

    @property
    def _here(self) -> set[tuple[str, int]]:
        """The processes whose parents can still tell their ends."""
        return {name for name in self._living if self._front_end.is_alive(*name)}

    def _end_with_the_last(self) -> None:
        if self._living or self._is_told:
            return
        self._is_told = True
        ended = self._first or Exit(code=0, at=self._front_end.reactor.now())
        self.output.finish(lambda: self._run.job_ended(ended, ""))


class WorldRanksRun(RanksRun):
    """One run of the ranks, with a gate and a job of this world."""

    front_end: RunFrontEnd

    def _new_job(self, job: Job, credit: OutputCredit, guard: ForkedGuard | None) -> RanksJob:
        del guard
        self.world_job = WorldJob(job, _making[-1], self, credit)
        return self.world_job

    def _new_gate(self, ranks: Sequence[str]) -> Gate:
        self.gate = WorldGate(self.front_end, self, ranks)
        return self.gate

    def _start_beside(self, before: Sequence[RanksRun]) -> None:
        del before
        self._reactor.later(0.01, self._start_now)

    def _start_now(self) -> None:
        if not self._killed.is_set():
            self._job.start()
            self._reactor.soon(self._tell_if_ready_to_fill)


_making: list[RunFrontEnd] = []
"""The front-end that makes a run just now, which that needs before its own constructor ends."""


class WorldComponents(Components):
    """The clustering components of a front-end, bound to others by calls that the world carries."""

    def __init__(self, front_end: RunFrontEnd, settings: FrontEndSettings) -> None:
        self._world_front_end = front_end
        self._cluster = settings.cluster
        passed = partial(self._passed, settings.cluster)
        heartbeats = front_end.heartbeats
        self._own = ClusterClustering(
            settings.cluster, passed, front_end, front_end.reactor, heartbeats
        )
        self.here: dict[str, Clustering] = {settings.cluster: self._own}
        for part in hosted_identifiers(settings.cluster, settings.levels):
            self.here.setdefault(part, Clustering(part, partial(self._passed, part)))
        for part, content in self.here.items():
            upper = above(part)
            if upper is not None:
                content.membership_up = stub(Membership, partial(front_end.call_part, upper))
            if part != settings.cluster:
                content.views_down = stub(Views, partial(self._call_branches, content))
        self.from_ranks = DispatchTable()
        for contract in FROM_RANKS:
            self.from_ranks.serve(contract, cast(Any, self._own))

    def _passed(self, part: str, found: list[Facts]) -> list[Facts]:
        front_end = self._world_front_end
        front_end.gathered(part)
        return front_end.reports() if part == self._cluster else found

    def _call_branches(
        self, content: Clustering, interface: str, operation: str, args: tuple[Any, ...]
    ) -> None:
        del interface
        for branch in list(content.branches.values()):
            getattr(branch, operation)(*args)

    def expect(self, part: str, members: list[str]) -> None:
        """Let a component wait for its members."""
        content = self.here[part]
        if part != self._cluster:
            for member in members:
                send = partial(self._world_front_end.call_part, member)
                content.branches.setdefault(member, stub(Views, send))
        content.expect(members)

    def forget(self, part: str, member: str) -> None:
        """Let a component wait no more for a member."""
        self.here[part].forget(member)

    def join(self, rank: str, channel: Channel) -> None:
        """Do nothing: the gate knows the ranks."""

    @property
    def views(self) -> Views:
        """The views of all ranks that are here."""
        return stub(Views, self._world_front_end.call_all_ranks)

    @property
    def control(self) -> Control:
        """The control of all ranks that are here."""
        return stub(Control, self._world_front_end.call_all_ranks)


class _Over:
    """Calls once that it is over."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def set(self) -> None:
        """Let it be over."""
        call, self._call = self._call, None
        if call is not None:
            call()

    def is_set(self) -> bool:
        """Tell whether it is."""
        return self._call is None


class RunFrontEnd(Actor):
    """One front-end; what it wants of the world is returned as effects."""

    def __init__(self, world: World, settings: FrontEndSettings) -> None:
        super().__init__(front_end_of(settings.cluster))
        self.cluster = settings.cluster
        self.reactor = WorldReactor(world, self.name)
        self._settings = settings
        self._effects: list[Effect] = []
        self._is_stopping = False
        self._has_ended = False
        self.is_alive: Callable[[str, int], bool] = lambda *_: True
        """Whether the host of a process of a rank lives."""
        self.credit = OutputCredit(self.reactor)
        self.told = reports_of(settings.cluster, self.tell)
        self.heartbeats = None if settings.watch is None else self._new_heartbeats()
        self._over = _Over(lambda: self.reactor.soon(self._wind_up))
        self.components = WorldComponents(self, settings)
        new = None if settings.job is None else self._new_run
        self._code = CodeRuns(self.reactor, self.components, new, cast(Any, self._over))
        self._orders = self._new_orders()

    def _new_orders(self) -> DispatchTable:
        present = Sometimes(
            lambda: self._code.present,
            "signal_ranks", "stop_ranks", "kill_ranks", "tell_states", "count_messages", "read",
            "show_prompts",
        )  # fmt: skip
        ends = Sometimes(
            lambda: None if self._code.present is None else self._code.present.ends,
            "start_again", "end_rank",
        )  # fmt: skip
        nodes = Sometimes(lambda: None, "start_node", "lead")
        dispatch = DispatchTable()
        owners = self._code, self.components, self.credit, present, ends, nodes
        dispatch.share(Orders, self, *owners)
        return dispatch

    def _new_heartbeats(self) -> HeartbeatLoop:
        assert self._settings.watch is not None
        return HeartbeatLoop(
            self.reactor, self._settings.watch, self.cluster,
            send=self._send_heartbeat, found=self._found, received=lambda _: 0, decides=False,
            names=self._settings.names,
        )  # fmt: skip

    def _new_run(self, incarnation: int) -> RanksRun:
        _making.append(self)
        try:
            made = WorldRanksRun(
                self._settings,
                self.reactor,
                self.tell,
                lambda _: None,
                self._end_if_all_ended,
                components=self.components,
                routes=SharedRoutes(self.reactor),
                credit=self.credit,
                incarnation=incarnation,
            )
        finally:
            _making.pop()
        made.front_end = self
        return made

    # --- as an actor ------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._has_ended

    def waits_for(self) -> str:
        """Say for what it waits."""
        missing = {part: one.missing for part, one in self.components.here.items() if one.missing}
        run = self._code.present
        job = "" if run is None else f", its job is {run._life.stage}"
        held = ", output is held" if self.credit.holds_any else ""
        return (f"for {missing}" if missing else "for orders or ends") + job + held

    def do(self, effect: Effect) -> None:
        """Want something of the world."""
        self._effects.append(effect)

    def handle(self, event: Event, now: float) -> Sequence[Effect]:  # noqa: ARG002 - of the reactor
        """Let something happen to it."""
        if not self._has_ended:
            self._handle(event)
        effects, self._effects = self._effects, []
        return effects

    def _handle(self, event: Event) -> None:
        run = cast("WorldRanksRun | None", self._code.present)
        match event:
            case CallDue(call):
                call()
            case ActorBegun():
                self._begin()
            case ContractCalled():
                self._take(event)
            case RankCalled(rank, _, "output", _, (size,)) if run is not None:
                block = b"x" * (size - 1) + b"\n"
                number = RankName.parse(rank).rank
                run.world_job.output.pass_on([(number, OutputStream.OUTPUT, block)])
            case RankCalled() | RankHungUp() if run is not None and hasattr(run, "gate"):
                run.gate.take(event)
            case RankGone() if run is not None:
                run.world_job.gone(event)
            case RankVanished(host) if run is not None:
                run.world_job.vanished(host)
            case _:
                pass

    def _begin(self) -> None:
        run = self._code.present
        if run is None or run.open():
            if run is not None and self._settings.at_once:
                run.start()
            self.told.up()

    def _take(self, call: ContractCalled) -> None:
        if call.interface == CONTRACTS[Orders]:
            self._orders.call(call.interface, call.operation, call.args)
        elif call.interface == HEALTH:
            if self.heartbeats is not None:
                self.heartbeats.hear(*call.args)
        elif call.to in self.components.here:
            getattr(self.components.here[call.to], call.operation)(*call.args)

    # --- what it says -----------------------------------------------------------------------------

    def tell(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the launcher."""
        if operation == "lines":
            name, blocks = args
            args = name, [(rank, stream, bytes(block)) for rank, stream, block in blocks]
        self.do(
            TellActor(LAUNCHER, ContractCalled(self.cluster, LAUNCHER, interface, operation, args))
        )

    def _call_over_launcher(
        self, to: str, interface: str, operation: str, args: tuple[Any, ...]
    ) -> None:
        call = ContractCalled(self.cluster, to, interface, operation, args)
        self.do(TellActor(LAUNCHER, call))

    def call_part(self, part: str, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the clustering component of a part, here or elsewhere."""
        if part in self.components.here:
            found = self.components.here[part]
            self.reactor.soon(lambda: getattr(found, operation)(*args))
        else:
            self.do(
                TellActor(LAUNCHER, ContractCalled(self.cluster, part, interface, operation, args))
            )

    def call_rank(self, rank: str, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call a rank that is here."""
        run = cast(WorldRanksRun, self._code.present)
        told = RankMayEnd(interface, operation, args)
        self.do(TellActor(process_of(rank, run.gate.incarnation_of(rank)), told))

    def call_all_ranks(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call all ranks that are here."""
        run = cast("WorldRanksRun | None", self._code.present)
        for rank in run.gate.connected if run is not None else ():
            self.call_rank(rank, interface, operation, args)

    def dispatch_rank(self, told: RankCalled) -> None:
        """Take what a rank calls here, or pass it on."""
        if told.interface == CONTRACTS[Appeals]:
            self._call_over_launcher(LAUNCHER, told.interface, told.operation, told.args)
        else:
            with suppress(CallRefused):
                self.components.from_ranks.call(told.interface, told.operation, told.args)

    def _send_heartbeat(self, to: str, call: Invocation) -> None:
        if to == ARBITER:
            self.tell(CONTRACTS[Heartbeats], "hear", tuple(call.args))
        else:
            self.do(
                TellActor(
                    LAUNCHER, ContractCalled(self.cluster, to, HEALTH, "hear", tuple(call.args))
                )
            )

    def _found(self, effect: object) -> None:
        from runtime.health import Expelled

        if isinstance(effect, Expelled):
            self._over.set()

    # --- what production's front-end does ---------------------------------------------------------

    def watch(self, elapsed: float, incarnation: int) -> None:
        """Watch the others."""
        if self.heartbeats is not None:
            self.heartbeats.begin(elapsed, incarnation)

    def stop(self) -> None:
        """End the ranks, then itself."""
        if self._is_stopping:
            return
        self._is_stopping = True
        if (ranks := self._code.present) is not None and ranks.is_released:
            ranks.ask_to_end()
        self.reactor.later(GRACE, self._over.set)
        self._end_if_all_ended()

    def _end_if_all_ended(self) -> None:
        if self._is_stopping and not self._code.is_running:
            self._over.set()

    def moved(self, reports: list[Facts]) -> None:
        """Take note of where ranks are that were started again."""
        self._code.whereabouts.moved(reports)
        self._code.replaced(reports)

    def coupled(self, report: Facts) -> None:
        """Do nothing: there is one code."""

    def gathered(self, part: str) -> None:
        """Tell that all members of a part are there."""
        self.told.gathered(part)

    def reports(self) -> list[Facts]:
        """Return what is known of the ranks of the cluster."""
        job = self._settings.job
        names = [f"{self.cluster}:{rank}" for rank in range(job.ranks if job else 0)]
        arrivals = self._code.arrivals
        return [report(rank, arrivals.get(rank)) for rank in names]

    def seen(self, table: bytes) -> None:
        """Learn who is where."""
        self._code.whereabouts.handshake(_decoded(table))
        self._code.locate()

    def present_ranks(self) -> Any:
        """Return the present run."""
        return self._code.present

    def connections(self, rank: str) -> Any:
        """Return nothing: no rank has any."""
        raise NotImplementedError(rank)

    # --- its end ----------------------------------------------------------------------------------

    def _wind_up(self) -> None:
        """End all, and pass output on until the launcher has taken it or wants no more."""
        if self.heartbeats is not None:
            self.heartbeats.end()
        run = cast("WorldRanksRun | None", self._code.present)
        if run is not None:
            run.ends.stopping()
            run.shut()
            run.world_job.close()
        self._pass_on(OutputHandover(), self._say_all_is_passed_on)

    def _pass_on(self, handover: OutputHandover, then: Callable[[], None]) -> None:
        held = self.credit.holds_any
        look = handover.look(self.reactor.now(), is_held=held, is_unsent=False)
        if look is None:
            then()
            return
        if look.reminds:
            self.told.output_follows()
        self.reactor.later(look.pause, lambda: self._pass_on(handover, then))

    def _say_all_is_passed_on(self) -> None:
        if not self.credit.holds_any:
            self.told.output_passed_on()
        self._has_ended = True
        self.do(ProcessEnded(self.name))


def in_time(is_elsewhere: bool, now: float) -> float:
    """Return the time of an end as a front-end is told it."""
    return IN_TIME if is_elsewhere else now


__all__ = ["HEALTH", "RunFrontEnd", "in_time", "pid_of", "process_of"]
