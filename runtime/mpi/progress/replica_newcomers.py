"""Replicas that are started again: who they are, how they are asked for, and what they are given.

A process that is started in the place of a lost one has an index of its own. It joins at a
checkpoint, a place in the program at which nothing is under way: there the others count it among
the replicas of its rank, and those of its own rank give it what the program has kept, and where
its library is. Loaded only in runs whose lost replicas are started again.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING

from runtime.errors import GridError
from runtime.machine.table import decoded
from runtime.membership.everybody import replacing
from runtime.mpi.progress.operations import IDLE, Operation
from runtime.transport.keys import member_name
from runtime.wire.dialling.directory import Party

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Any

    from runtime.membership.everybody import Everybody, Resident
    from runtime.membership.rank_link import RankLink
    from runtime.mpi.progress.driver import Driver
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.mpi.progress.waiting import Waits
    from runtime.rank_name import RankName

MOST_STARTS = 4
"""How often a process is started in one place, the first time included."""


class ReplicaNewcomers:
    """What a process knows of those that were started again; it may be one of them.

    The lock of the engine protects it.
    """

    def __init__(
        self,
        link: RankLink,
        known: Everybody,
        driver: Driver,
        waits: Waits,
        connections: ReplicatedConnections,
    ) -> None:
        self._link, self._driver, self._connections = link, driver, connections
        self._waits = waits
        self._residents: list[Resident] = list(known.residents)
        self._grid, self._cluster_name, self._names = known.grid, known.cluster_name, known.names
        self._given = b""
        connections.is_joining, connections.take = link.is_again, self.take
        self._is_waiting = False

    def __len__(self) -> int:
        """Return how many processes are known, the lost ones among them."""
        return len(self._residents)

    # --- who there is -----------------------------------------------------------------------------

    def name_of(self, index: int) -> str:
        """Return the name that a process proves, such as `0:1:0#2`."""
        one = self._residents[index]
        return member_name(str(one.identifier), max(1, one.incarnation))

    def place_of(self, index: int) -> int:
        """Return the index of the process that was first in the place of one."""
        identifier = self._residents[index].identifier
        return next(at for at, one in enumerate(self._residents) if one.identifier == identifier)

    def index_of(self, process: RankName, incarnation: int) -> int | None:
        """Return the index of the process that had a place in an incarnation; None if unknown."""
        known = enumerate(self._residents)
        found = (
            at
            for at, one in known
            if one.identifier == process and max(1, one.incarnation) == max(1, incarnation)
        )
        return next(found, None)

    def handle_view(self, table: bytes) -> None:
        """Know who has taken the place of whom."""
        below = self._connections.below
        first = len(self._residents)
        for one in replacing(decoded(table), self._grid, first - self._grid.size):
            self._residents.append(one)
            self._connections.know(
                self._connections.rank_of(self.place_of(len(self._residents) - 1))
            )
            name = self._cluster_name(one.identifier)
            below.add(Party.of(one, name, self._names))
        if self._is_waiting:
            self._announce_wait(first)
        self._driver.wake()
        below.wake()

    def handle_end(self, index: int, code: int) -> None:
        """Ask for another process in the place of a replica of this rank that has failed.

        All that are left of the rank ask, any of which may die, and one is started.
        """
        connections = self._connections
        incarnation = max(1, self._residents[index].incarnation)
        is_ours = connections.rank_of(index) == connections.rank
        is_over = self._driver.connections is None
        if is_ours and code and incarnation < MOST_STARTS and not is_over:
            wrapper = self._link.wrapper
            wrapper.appeals.replace(wrapper.member, [self.name_of(index)])

    # --- those that have others join --------------------------------------------------------------

    def ready(self) -> tuple[int, ...]:
        """Return who could join now."""
        return self._connections.core.ready

    def await_all(self, newcomers: Sequence[int]) -> None:
        """Wait until they are known here, and what this process has sent is not lost any more."""
        waiting = Settling()
        core = self._connections.core
        self._waits.wait(
            lambda: max(newcomers) < len(self._residents) and core.may_hand_over,
            lambda: (waiting,),
        )

    def is_of_this_rank(self, newcomers: Sequence[int]) -> bool:
        """Return whether one of those that are known is to be a replica of the rank of this one."""
        connections = self._connections
        return any(connections.rank_of(one) == connections.rank for one in newcomers)

    def let_join(self, newcomers: Sequence[int], library: object, state: bytes) -> None:
        """Count processes among the replicas of their ranks.

        Ours are given where the library is, and the state of the program. The lock of the engine is
        held, and all are known.
        """
        connections = self._connections
        ranks = [(one, connections.rank_of(one)) for one in newcomers]
        connections.carry_out(connections.core.join(ranks))
        ours = [one for one, rank in ranks if rank == connections.rank]
        if ours:
            handed = pickle.dumps((connections.core.hand_over(), library))
            for one in ours:
                if one not in connections.gone:
                    connections.give(one, handed, state)

    # --- those that join --------------------------------------------------------------------------

    def take(self, given: bytes) -> None:
        """Take what a replica of this rank gives; all of them give the same."""
        if self._connections.is_joining and not self._given:
            self._given = given
            self._driver.wake()

    def join(self) -> tuple[Any, IO[bytes]]:
        """Wait for what another replica of this rank gives, and go on where it is.

        Return where its library is, and what its program has kept, pickled.

        Raises:
            GridError: all others have ended before they have given it.
        """
        connections, waiting = self._connections, Settling()
        with self._driver.lock:
            self._is_waiting = True
            self._announce_wait(0)
        self._waits.wait(lambda: bool(self._given) or not self._others(), lambda: (waiting,))
        if not self._given:
            raise GridError(
                "no replica of this rank is left that this process could join",
                cause="all others have ended since it was started again",
            )
        # From another replica of this rank, over a proved connection.
        given = io.BytesIO(self._given)
        core, library = pickle.load(given)
        with self._driver.lock:
            connections.is_joining = self._is_waiting = False
            self._given = b""
            connections.take_over(core)
        return library, given

    def _announce_wait(self, first: int) -> None:
        """Tell rank 0, whose master decides who joins; any process of it may become that."""
        connections = self._connections
        several = [
            one
            for one in range(first, len(self._residents))
            if connections.rank_of(one) == 0
            and one != connections.process
            and one not in connections.gone
        ]
        connections.carry_out(connections.core.wait(several))

    def _others(self) -> list[int]:
        """Return the other processes of this rank that live."""
        connections = self._connections
        return [
            one
            for one in range(len(self._residents))
            if connections.rank_of(one) == connections.rank
            and one != connections.process
            and one not in connections.gone
        ]


class Settling(Operation):
    """Waits until others can join, or until this process can."""

    __slots__ = ()

    @property
    def urgency(self) -> int:
        """Native MPI has nothing to do with it."""
        return IDLE

    def describe(self) -> str:
        """Say what is waited for."""
        return "replicas that are started again"
