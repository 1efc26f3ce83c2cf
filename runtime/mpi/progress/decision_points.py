"""What replicas of a rank have to agree on: the master decides, and the others follow.

Loaded only in runs whose ranks have replicas. Whatever depends on timing, such as which of two
messages comes first, is decided here: receives and probes with wildcards, tests of requests, waits
for any of several, and clocks. The engine's lock protects all of it.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from mpi4py import MPI

from runtime.mpi.progress.decided_receives import DecidedReceives
from runtime.mpi.progress.operations import IDLE, POLLED, Operation
from runtime.replicas.decisions import UNKNOWN
from runtime.replicas.effects import Decided, Lead
from runtime.replicas.limits import ReplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from runtime.mpi.progress.driver import Driver
    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.mailboxes import Receive
    from runtime.mpi.progress.ranks import CommunicatorRanks
    from runtime.mpi.progress.replica_newcomers import ReplicaNewcomers
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.mpi.progress.waiting import Waits
    from runtime.replicas.core import Replication
    from runtime.replicas.effects import Effect

T = TypeVar("T")
Key = tuple["Hashable", int]


class DecisionPoints:
    """The decisions of one process, which is a replica of a rank.

    A decision can be an integer, a float, a string, a boolean, or a tuple of these.
    """

    def __init__(
        self,
        driver: Driver,
        waits: Waits,
        connections: ReplicatedConnections,
        newcomers: ReplicaNewcomers | None = None,
    ) -> None:
        """Decide for the program of a driver; `newcomers` are replicas that are started again."""
        driver.has_replicas = True
        self._driver, self._waits = driver, waits
        self._connections, self.newcomers = connections, newcomers
        self._results: dict[Key, Any] = {}
        self._receives = DecidedReceives(driver, connections, self._announce)
        self._shift = 0.0
        self.clock = 0.0
        """What the master's clock has said last; a process that joins begins with it."""
        connections.heard = self._handle

    @property
    def is_joining(self) -> bool:
        """Whether this process was started again, and has not joined the others yet."""
        return self._connections.is_joining

    @property
    def _core(self) -> Replication:
        return self._connections.core

    # ------------------------------------------------------------------------------- deciding

    def choose(
        self,
        kind: str,
        attempt: Callable[[], T | None],
        operations: Callable[[], Sequence[Operation]] = tuple,
    ) -> T:
        """Return what the master finds; `attempt` returns None as long as it finds nothing.

        `operations` are those that the attempt looks at.
        """
        driver, core = self._driver, self._core
        self._connections.check_has_joined()
        with driver.lock:
            number, value = core.ask(kind)
        if value is not UNKNOWN:
            decided: T = value
            return decided
        key = kind, number
        waiting = _Undecided(kind)

        def is_decided() -> bool:
            if core.leads and core.is_open(kind, number):
                found = attempt()
                if found is not None:
                    self._connections.carry_out(core.decide(kind, number, found))
            return key in self._results

        self._waits.wait(is_decided, lambda: operations() if core.leads else (waiting,))
        with driver.lock:
            made: T = self._results.pop(key)
        return made

    def finish(self) -> None:
        """Wait until the master has sent everything that this replica has: both may end soon."""
        waiting = _Undecided("the end")
        self._waits.wait(lambda: not self._core.owes, lambda: (waiting,))

    def _announce(self, sequence: Hashable, number: int, value: Any) -> None:
        """Announce a decision on what has happened already."""
        self._connections.carry_out(self._core.decide(sequence, number, value, at_once=True))

    def _handle(self, effect: Effect) -> None:
        self._connections.when_idle(partial(self._take_in, effect))

    def _take_in(self, effect: Effect) -> None:
        if isinstance(effect, Lead):
            self._receives.lead()
        elif isinstance(effect, Decided):
            key = effect.sequence, effect.number
            if not self._receives.decided(key, effect.value):
                self._results[key] = effect.value

    # ------------------------------------------------------------------- receives and requests

    def receive(self, m: CommunicatorRanks, source: int, tag: int, landing: Landing) -> Receive:
        """Begin a receive of the program; the lock is held."""
        self._connections.check_has_joined()
        return self._receives.begin(m, source, tag, landing)

    def is_done(self, operation: Operation) -> bool:
        """Return whether an operation is done at the master; then it is done here too."""
        self._driver.ask()
        is_done = self.choose("test", operation.test)
        if is_done:
            self._await((operation,))
        return is_done

    def which_are_done(
        self,
        mine: Sequence[tuple[int, Operation]],
        natives: Sequence[tuple[int, MPI.Request]],
        *,
        most: int | None,
        waits: bool,
    ) -> tuple[int, ...]:
        """Return the positions of those done at the master, at most a given number.

        With `waits` there is at least one. They are done here too then, and no native request is
        completed.
        """
        operations = [*mine, *((place, _NativeRequest(one, idle=False)) for place, one in natives)]
        operations.sort(key=itemgetter(0))

        def find() -> tuple[int, ...] | None:
            found = tuple(place for place, one in operations if one.test())[:most]
            return found if found or not waits else None

        self._driver.ask()
        chosen = self.choose("which", find, lambda: [one for _, one in operations])
        self._await([one for place, one in operations if place in chosen])
        return chosen

    def are_all_done(self, mine: Sequence[Operation], natives: Sequence[MPI.Request]) -> bool:
        """Return whether all are done at the master; they are done here too then."""
        operations = [*mine, *(_NativeRequest(one, idle=True) for one in natives)]
        self._driver.ask()
        are_done = self.choose("all", lambda: all(one.test() for one in operations))
        if are_done:
            self._await(operations)
        return are_done

    def cancel(self, operation: Operation) -> None:
        """Cancel an operation if the master can.

        Raises:
            ReplicationError: the master could, but here its message has come.
        """

        def is_cancelled() -> bool:
            operation.cancel()
            return operation.cancelled

        if self.choose("cancel", is_cancelled) and not operation.cancelled:
            with self._driver.lock:
                operation.cancel()
                if not operation.cancelled:
                    raise ReplicationError(
                        "a receive was cancelled by the first replica of this rank before its "
                        "message had come, and has it here",
                        cure="Other replicas go on; only this one cannot do as they do",
                    )

    def _await(self, operations: Sequence[Operation]) -> None:
        self._waits.wait(
            lambda: all(one.test() for one in operations),
            lambda: [one for one in operations if not one.done],
        )

    # ------------------------------------------------------------------------ probes and clocks

    def sees(
        self, looking: Operation, look: Callable[[], tuple[int, int] | None], *, waits: bool
    ) -> tuple[int, int] | None:
        """Return the source and the tag of the message that the master sees, None if it sees none.

        With `waits` it waits for one, as `looking` says.
        """

        def find() -> tuple[int, ...] | None:
            found = look()
            return (() if not waits else None) if found is None else found

        self._driver.ask()
        seen = self.choose("probe", find, lambda: (looking,))
        return (seen[0], seen[1]) if seen else None

    def now(self) -> float:
        """Return the master's clock; a new master continues from the last one."""

        def read() -> float:
            self._shift = max(self._shift, self.clock - MPI.Wtime())
            return MPI.Wtime() + self._shift

        self.clock = self.choose("clock", read)
        return self.clock

    def seed(self, make: Callable[[], str]) -> str:
        """Return a random seed, drawn by the master."""
        return self.choose("seed", make)


class _NativeRequest(Operation):
    """A native request that is only tested; it is one of the process with itself.

    `idle` says whether one that has not begun counts as done.
    """

    __slots__ = ("_idle", "_request")

    def __init__(self, request: MPI.Request, *, idle: bool) -> None:
        super().__init__()
        self._request, self._idle = request, idle

    @property
    def urgency(self) -> int:
        """It is urgent: no wake-up announces it."""
        return POLLED

    def test(self) -> bool:
        """Ask native MPI."""
        try:
            index, is_done = MPI.Request.Get_status_any([self._request])
        except MPI.Exception:
            self.done = True  # completing it raises the error
        else:
            self.done = is_done and (self._idle or index != MPI.UNDEFINED)
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return "a request of this process with itself"


class _Undecided(Operation):
    """Waits for a decision of the master of this rank."""

    __slots__ = ("_kind",)

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    @property
    def urgency(self) -> int:
        """Not urgent: native MPI is not involved."""
        return IDLE

    def describe(self) -> str:
        """Describe what is waited for."""
        return f"what the first replica of this rank decides ({self._kind})"
