"""A process of a rank in a world of programs: production's MPI of a rank above simulated sockets.

What a rank's threads do side by side are turns of its actor: its program runs until it would sleep,
then whatever has come is looked after as the progress thread does it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from mpi4py import MPI

from gcm.records import dataclass
from runtime.machine.calls import DispatchTable
from runtime.machine.contracts import CONTRACTS, Views
from runtime.machine.deaths import Observation, Witness
from runtime.machine.rank_settings import RankSettings
from runtime.machine.wrapper import RankWrapper
from runtime.membership.everybody import everybody
from runtime.membership.whereabouts import RankArrival
from runtime.mpi.process import counted_output, place
from runtime.mpi.process.place import place_of_rank
from runtime.mpi.progress import native_waits, predefined
from runtime.mpi.progress.decision_points import DecisionPoints
from runtime.mpi.progress.engine import Engine
from runtime.mpi.progress.newcomers import Newcomers
from runtime.mpi.progress.predefined import Predefined
from runtime.mpi.surface import (
    communicator_classes as _classes,  # noqa: F401 - their classes
)
from runtime.mpi.surface import start
from runtime.rank_name import RankName
from runtime.testing.world.engine import Actor, ActorBegun, Effect, Event, WakeAt
from runtime.testing.world.guard import GUARD
from runtime.testing.world.program_thread import ProgramThread
from runtime.testing.world.ranks import SECRET
from runtime.testing.world.sockets import WorldProcess
from runtime.testing.world.told import TellActor
from runtime.topology import Communicator
from runtime.transport.credentials import Credentials
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.opening import directory_of
from runtime.wire.peer_connections import PeerConnections
from runtime.wire.rank_peers import RankPeers

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink
    from runtime.mpi.progress.replication import ReplicatedConnections

KEEPER = "keeper"
"""Who knows all processes, tells of their ends, and has others started."""

SILENCE, RESUME = 8.0, 12.0

_A_LOOK = 1e-7
"""Seconds that a process needs to ask for the time."""
_OFTEN_SLOW, _SLOW_CALL = 0.3, 0.3
"""How often, and for how many seconds, a call of the front-end keeps its caller."""
_SOON = 2e-6
"""Seconds after which it looks at its descriptors again."""


@dataclass(frozen=True, slots=True)
class ProgramCalled(Event):
    """A call of a contract comes from the front-end."""

    interface: str
    operation: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        """Return what a tape has of it."""
        return f"{self.interface}.{self.operation}"


@dataclass(frozen=True, slots=True)
class MemberSaid(Event):
    """A process calls the launcher."""

    member: str
    operation: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MemberEnded(Event):
    """The program of a process has ended, or the process has: the first that is known counts."""

    member: str
    end: Observation


@dataclass(frozen=True, slots=True)
class MemberReady(Event):
    """A process that was started again is there."""

    member: str
    arrival: RankArrival


@dataclass(frozen=True, slots=True)
class ProcessOver(Effect):
    """A process has ended by itself."""

    code: int
    why: str


class WorldOutput(counted_output.CountedOutput):
    """What stands below `print`: nothing is written."""

    def __init__(self) -> None:
        super().__init__(is_late=False)

    def so_far(self) -> tuple[int, bytes]:
        """Return that nothing was written."""
        return 0, b""

    def go_on(self, lines: int, begun: bytes) -> None:
        """Do nothing."""


class ProgramPeers(PeerConnections):
    """The peers of a rank, whose sleep is that of its actor."""

    def __init__(
        self,
        process: WorldProcess,
        sleep: Callable[[float | None], None],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self._process, self._sleep = process, sleep
        self.now = lambda: process.now
        self.watch_descriptor = process.watch  # type: ignore[method-assign]
        self._wishes = deque()
        self._is_due = self._is_closed = self.was_woken = False
        self._deadline = None
        self.at_end = None
        self.wake_ups = cast(Any, _NoWakeUps())
        RankPeers.__init__(self, *args, random=process.random, **kwargs)

    @property
    def is_due(self) -> bool:
        """Whether `progress` has something to do, apart from descriptors."""
        late = self._deadline is not None and self.now() >= self._deadline
        return self._is_due or late

    @property
    def deadline(self) -> float | None:
        """When something is due."""
        return self._deadline

    def progress(self) -> bool:
        """Read and write what can be; return whether anything happened."""
        happened = self._process.progress()
        if self.is_due:
            self._run_due()
            happened = True
        return happened

    def ready(self, timeout: float | None) -> bool:
        """Sleep until there is something to do, or `wake` is called."""
        if not (self.was_woken or self.is_due or self._process.ready()):
            self._sleep(timeout)
        self.was_woken = False
        return True

    def wake(self) -> None:
        """Let the program go on."""
        self.was_woken = True

    def _close_loop(self) -> None:
        self._is_closed = True


class _NoWakeUps:
    def close(self) -> None:
        """Do nothing."""


class _WorldLink:
    """What a rank knows of its front-end, in place of a `RankLink`."""

    def __init__(self, member: str, settings: RankSettings, actor: ProgramProcess) -> None:
        self.name, _, number = member.partition("#")
        self.rank_name = RankName.parse(self.name)
        self.incarnation = int(number or 1)
        self.is_again = self.incarnation > 1
        self.dispatch = DispatchTable()
        self.wrapper = RankWrapper(member, self.dispatch, self._call_above, actor.appeal)
        self.wrapper.settings = settings

    def _call_above(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Do nothing: nobody counts."""


class ProgramProcess(Actor):
    """One process of a rank, with its program."""

    def __init__(
        self,
        process: WorldProcess,
        settings: RankSettings,
        program: Callable[[ProgramProcess], None],
        table: bytes,
        addresses: Sequence[str],
        *,
        slowness: float = 1.0,
    ) -> None:
        super().__init__(process.name)
        self.process = process
        self.results: dict[int, object] = {}
        """What each step of the program has found."""
        self.code: int | None = None
        self.why = ""
        self.is_short = False
        """Whether it has ended because others had ended before it."""
        self.has_joined = False
        self.waited: dict[int, float] = {}
        """For how many seconds each step has lasted."""
        self._settings = settings
        self._addresses = addresses
        self._slowness = slowness
        self._thread = ProgramThread(lambda: self._run(program))
        self._until: float | None = None
        self._computes = False
        self._is_released = False
        self._looks = 0
        with GUARD.offering(self._offers):
            self.link = _WorldLink(process.name, settings, self)
        self.incarnation = self.link.incarnation
        self.output = WorldOutput()
        self._early: list[ProgramCalled] = []
        self.made: Predefined | None = None
        self.engine: Engine | None = None
        link = cast("RankLink", self.link)
        self.link.wrapper.table = table
        self._known = everybody(link)
        self.place = place_of_rank(link, self._known)

    # --- its MPI ----------------------------------------------------------------------------------

    def _open(self) -> None:
        """Make what `runtime.mpi.surface.start` makes, over simulated sockets."""
        known, link, where = self._known, cast("RankLink", self.link), self.place
        engine = Engine(where.index, where.first, where.last, where.name_of, where.process_of)
        replicas = self._settings.replicas
        replicated, again = None, None
        if replicas > 1:
            replicated, again = start._replicated(where, link, engine, known, replicas)
        elif where.is_isolated:
            engine.newcomers = Newcomers(where, engine, link)
        self.peers = peers = self._peers(replicated or engine)
        engine.connections = replicated or peers
        if replicated is not None:
            replicated.stand_on(peers)
            engine.decisions = DecisionPoints(engine, engine.waits, replicated, again)
        start._listen(where, link, engine, peers, replicated, known=known)
        world = start._named(where, engine, Communicator.GRID)
        comms = {"COMM_GRID": world, "COMM_WORLD": world}
        self.engine, self.made = engine, Predefined(engine, comms, comms.__getitem__)
        self.settle()
        if engine.decisions is None:
            start._use_modes(comms, link)

    def _peers(self, sink: Engine | ReplicatedConnections) -> ProgramPeers:
        known, process = self._known, self.process
        directory = directory_of(known)
        credentials = Credentials(SECRET, process.name)
        connector = DirectConnector(known.index, directory, credentials, system=process)
        listeners = [process.listen(one) for one in self._addresses]
        return ProgramPeers(
            process, self._sleep, known.index, directory, sink, connector,
            listeners=listeners, credentials=credentials, silence=SILENCE, resume_timeout=RESUME,
        )  # fmt: skip

    def settle(self) -> None:
        """Be the process that production's modules are in."""
        place._here, predefined._predefined = self.place, self.made
        counted_output._counted = self.output
        native_waits.use(self.engine)

    def free(self) -> None:
        """Leave nothing of native MPI, and no thread."""
        self.settle()
        with GUARD.offering(self._offers):
            self._thread.leave()
        for m in self.engine.communicators() if self.engine is not None else ():
            for one in (m.native, m.inner):
                if one:
                    MPI.Comm.Free(one)

    def appeal(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the launcher."""
        del interface
        may_sleep = self._thread.is_running and not self._is_locked
        if may_sleep and self.process.chance < _OFTEN_SLOW:
            self._nap(_SLOW_CALL)
        self.process.do(TellActor(KEEPER, MemberSaid(self.name, operation, args)))

    @property
    def _is_locked(self) -> bool:
        lock: Any = self.engine.lock if self.engine is not None else None
        return lock is not None and bool(lock._is_owned())

    # --- time -------------------------------------------------------------------------------------

    @property
    def _offers(self) -> Mapping[str, Callable[..., Any]]:
        read = self._read_clock
        return {
            "time.monotonic": read, "time.perf_counter": read, "time.time": read,
            "time.sleep": self._nap, "os.getpid": lambda: 1,
        }  # fmt: skip

    def _read_clock(self) -> float:
        """Return the time, which goes on a little: who spins comes to an end."""
        self._looks += 1
        return self.process.now + self._looks * _A_LOOK

    def _nap(self, seconds: float) -> None:
        self._computes = True
        self._sleep(seconds)

    def compute(self, seconds: float) -> None:
        """Let the program do something else for a while."""
        if seconds:
            self._nap(seconds * self._slowness)

    def _sleep(self, timeout: float | None) -> None:
        self._until = None if timeout is None else self.process.now + timeout
        self._thread.sleep()

    # --- as an actor ------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self.code is not None

    def waits_for(self) -> str:
        """Say for what it waits."""
        if self.engine is None or self._computes:
            return "until its program goes on"
        at_end = "; ".join(self.peers.awaited())
        return f"after steps {list(self.results)}: {self.engine.waits.describe()} {at_end}"

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Let something happen to it."""
        if self.is_over:
            return ()
        self.process.now, self._looks = now, 0
        with self._settled():
            if isinstance(event, ActorBegun):
                self._open()
                for one in self._early:
                    self._take(one)
            elif isinstance(event, ProgramCalled):
                if self.engine is None:
                    self._early.append(event)
                else:
                    self._take(event)
            if self.engine is not None:
                self._go_on(now)
        effects = self.process.effects()
        if self._thread.is_over:
            self.code = int(bool(self.why))
            return [*effects, ProcessOver(self.code, self.why)]
        return [*effects, WakeAt(self._next(now))]

    @contextmanager
    def _settled(self) -> Iterator[None]:
        self.settle()
        with GUARD.offering(self._offers):
            yield

    def _take(self, call: ProgramCalled) -> None:
        self.link.dispatch.call(call.interface, call.operation, call.args)

    def _go_on(self, now: float) -> None:
        """Let the program go on if it may, else do what the progress thread does."""
        assert self.engine is not None
        if self.link.wrapper.may_go and not self._is_released:
            self._is_released = True
            self._thread.go_on()
            return
        is_late = self._until is not None and now >= self._until
        if self._computes or not self._is_released:
            if is_late:
                self._computes, self._until = False, None
                self._thread.go_on()
            elif self._has_news:
                self.peers.was_woken = False
                self.engine.poll()
        elif self._has_news or is_late:
            self._until = None
            self._thread.go_on()

    @property
    def _has_news(self) -> bool:
        peers = self.peers
        return peers.was_woken or peers.is_due or bool(self.process.ready())

    def _next(self, now: float) -> float | None:
        if self.engine is None:
            return None
        if self._has_news:
            return now + _SOON
        times = (self.peers.deadline, self._until)
        return min((max(one, now + _SOON) for one in times if one is not None), default=None)

    # --- its program ------------------------------------------------------------------------------

    def _run(self, program: Callable[[ProgramProcess], None]) -> None:
        try:
            program(self)
        except Exception as fault:  # as the interpreter of a rank, which tells of it
            self.why = f"{type(fault).__name__}: {fault}"
        native_waits.use(None)
        assert self.engine is not None
        try:
            self.engine.close()
        except Exception as fault:
            self.why = self.why or f"at its end: {type(fault).__name__}: {fault}"
        end = Observation(Witness.RANK, int(bool(self.why)), exception=self.why)
        self.process.do(TellActor(KEEPER, MemberEnded(self.name, end)))

    @property
    def world(self) -> Any:
        """COMM_WORLD."""
        assert self.made is not None
        return self.made.comms["COMM_WORLD"]


VIEWS = CONTRACTS[Views]
