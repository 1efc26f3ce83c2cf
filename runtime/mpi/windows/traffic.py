"""What comes and goes for one window: requests of others, and requests to them.

The machines are in `runtime.windows`: `WindowTarget` serves, `WindowOrigin` asks. Here their
messages go to the wire and come from it, and calls of the program wait for what is under way.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.progress.mailboxes import HEAD, SERVED
from runtime.mpi.progress.operations import Operation
from runtime.mpi.windows.waiting import Awaited, WindowLosses
from runtime.services import BodyHere, Effect
from runtime.topology import member_in_words
from runtime.windows.origin import Access, AccessRefused, Departure, OutgoingRequest, WindowOrigin
from runtime.windows.requests import AnswerCode, RequestHeader, RequestKind
from runtime.windows.target import Memory, Reduce, WindowTarget

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers

MOST_TOLD = 4
"""So many ranks are named where a wait is explained."""


class WindowTraffic:
    """The requests of a window at one process: a service for others, and what it asks them for.

    Methods are called with the engine's lock held, unless they say something else.
    """

    def __init__(
        self, members: CommunicatorMembers, losses: WindowLosses, memory: Memory, reduce: Reduce
    ) -> None:
        self.members, self.losses = members, losses
        self.engine: Engine = members.engine
        self.target = WindowTarget(memory, reduce)
        self.origin = WindowOrigin(members.rank, members.size)
        self.ranks = {index: rank for rank, index in enumerate(members.peers)}
        self._head = HEAD.pack(members.context, True, self.engine.me, SERVED)

    # --- the service ------------------------------------------------------------------------------

    def admits(self, source: int) -> bool:
        """Return whether a process does not wait for the lock."""
        return self.target.admits(source)

    def may_wait(self, header: bytes) -> bool:
        """Return whether it is a request for the lock."""
        return header[0] == RequestKind.LOCK

    def room(self, source: int, header: bytes, size: int) -> memoryview | None:  # noqa: ARG002 - others may need the source
        """Return where data go: into the window, or where they were asked for."""
        told = RequestHeader.of(header)
        if told.kind != RequestKind.ANSWER:
            return self.target.room(told, size)
        return self.origin.room(told.token, size) if told.operation == AnswerCode.DONE else None

    def handle(self, source: int, header: bytes, body: memoryview | None) -> Iterable[Effect]:
        """Serve a request, or take an answer."""
        told, origin = RequestHeader.of(header), self.origin
        if told.kind == RequestKind.ANSWER:
            origin.answered(told.token, told.operation, body)
            self.depart()
            return ()
        if told.kind == RequestKind.POST:
            origin.posts[self.ranks[source]] += 1
            return ()
        if told.kind == RequestKind.HELD_BY:
            origin.holders[self.ranks[source]] = tuple(array("q", bytes(body or b"")))
            return ()
        return self.target.handle(source, told, body)

    def lost(self, source: int) -> Iterable[Effect]:
        """Go on without a lost process."""
        error = self.engine.losses.of(source)
        if source in self.ranks and error is not None:
            self.origin.lost(self.ranks[source], error)
        return self.target.lost(source)

    def broken(self, source: int, fault: Exception) -> Iterable[Effect]:
        """Give the window up: a process has sent what cannot be read."""
        name = self.engine.name_of(source)
        self.losses.break_off(
            error_of_mpi(
                MPI.ERR_OTHER,
                f"the window was given up here, since {name} has sent what cannot be read"
                f" ({type(fault).__name__}: {fault}). Do all ranks have the same version?",
            )
        )
        return ()

    # --- requests to others -----------------------------------------------------------------------

    def check(self, rank: int) -> None:
        """Raise the error of calls to a rank, if the window or the rank is lost."""
        if (closed := self.losses.error) is not None:
            raise closed
        engine, index = self.engine, self.members.peers[rank]
        if index == engine.me:
            return
        if (error := engine.losses.of(index)) is not None:
            raise error
        if engine.connections is None:
            raise RuntimeError("the connections are closed")

    def depart(self) -> None:
        """Let leave what is to leave; what cannot, fails."""
        departures = self.origin.departures
        while departures:
            one = departures.popleft()
            try:
                self.check(one.rank)
                self._send(one)
            except Exception as error:
                if one.request is not None:
                    one.request.fail(error)
                self.origin.lost(one.rank, error)

    def _send(self, one: Departure) -> None:
        m, engine = self.members, self.engine
        index = m.peers[one.rank]
        if index == engine.me:
            if one.request is not None:
                one.request.left(None)
            data = one.body[0] if len(one.body) == 1 else b"".join(one.body)
            engine.services().arrived(m.context, one.header, BodyHere(index, data))
            return
        assert engine.connections is not None, "it was asked before"
        outgoing = engine.connections.send(index, self._head + one.header, one.body)
        engine.wake()
        if one.request is not None:
            is_gone = outgoing.done and outgoing.error is None
            sent = None if is_gone else engine.far_send(outgoing, one.rank, index, self.losses)
            one.request.left(sent)

    def close(self) -> None:
        """Let all that is under way fail, if the window is lost."""
        error = self.losses.error
        if error is not None:
            self.origin.close(error)

    # --- what the program waits for ---------------------------------------------------------------

    def wait_for(self, items: Iterable[Access | OutgoingRequest], *more: Operation) -> None:
        """Wait until all is over; raises the first error. The lock is not held."""
        self.engine.waits.wait_for(AwaitedAccesses(self, items), *more)

    def wait_until(self, what: str, ranks: Sequence[int], is_there: Callable[[], bool]) -> None:
        """Wait for what some ranks are to do. The lock is not held."""
        self.engine.waits.wait_for(self.awaited(what, ranks, is_there))

    def awaited(self, what: str, ranks: Sequence[int], is_there: Callable[[], bool]) -> Awaited:
        """Return what some ranks are to do, as an operation."""
        indexes = [self.members.peers[one] for one in ranks]
        return Awaited(self.engine, self.losses, indexes, what, is_there)

    def in_words(self, rank: int) -> str:
        """Return a rank and its name."""
        return member_in_words(rank, self.engine.name_of(self.members.peers[rank]))

    def holders_in_words(self, indexes: Iterable[int]) -> str:
        """Return who has a lock."""
        return " and ".join(self.in_words(self.ranks[one]) for one in sorted(indexes)[:MOST_TOLD])


class AwaitedAccesses(Operation):
    """Accesses and requests of a process, until all are over.

    Errors of those that have a request of the program are told by that alone.
    """

    __slots__ = ("_items", "_tells_all", "_traffic")

    def __init__(
        self, traffic: WindowTraffic, items: Iterable[Access | OutgoingRequest], *,
        tells_all: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._traffic, self._items, self._tells_all = traffic, deque(items), tells_all
        self.source = MPI.UNDEFINED  # as MPI says where there is no message

    def test(self) -> bool:
        """Return whether all are over."""
        if self.done:
            return True
        traffic, items = self._traffic, self._items
        if traffic.losses.is_closed:
            traffic.close()
        while items and items[0].test():
            one = items.popleft()
            is_told = isinstance(one, OutgoingRequest) or self._tells_all or not one.is_requested
            if self.error is None and is_told and one.error is not None:
                self.error = self._in_mpi(one.rank, one.error)
        if not items:
            self.finish(self.error)
        return self.done

    def _in_mpi(self, rank: int, error: BaseException) -> BaseException:
        if not isinstance(error, AccessRefused):
            return error
        is_outside = error.code == AnswerCode.OUTSIDE
        text = f"an access to rank {rank} was refused there: {error}"
        return error_of_mpi(MPI.ERR_RMA_RANGE if is_outside else MPI.ERR_OTHER, text)

    def fill(self, status: MPI.Status | None) -> None:
        """Leave a status as it is: accesses of windows have none."""

    def _ranks(self) -> list[int]:
        return sorted({one.rank for one in self._items})

    def takes_long(self) -> None:
        """Ask who has the locks that this may wait for."""
        origin = self._traffic.origin
        for rank in self._ranks()[:MOST_TOLD]:
            origin.ask_for_holders(rank)
        self._traffic.depart()

    def describe(self) -> str:
        """Describe what is waited for, and who has the lock that it needs."""
        traffic = self._traffic
        told = []
        for rank in self._ranks()[:MOST_TOLD]:
            text = f"accesses to the memory of {traffic.in_words(rank)}"
            holders = traffic.origin.holders.get(rank, ())
            if holders:
                text += f", whose lock {traffic.holders_in_words(holders)} has"
            told.append(text)
        return " and ".join(told) or "something"

    def awaited(self) -> Sequence[int]:
        """Return the processes that have to answer."""
        return [self._traffic.members.peers[one] for one in self._ranks()]


def error_of_mpi(kind: int, text: str) -> MPI.Exception:
    """Return an error of a class of MPI, with what has happened as a note."""
    error = MPI.Exception(kind)
    error.add_note(text)
    return error
