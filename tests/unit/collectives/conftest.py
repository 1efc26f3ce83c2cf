"""A machine that runs all members of a communicator in one process, and counts what crosses.

Every message and native call works on the members' own memory, so an algorithm that touches data
too early or too late fails; and so does one whose members make different native calls.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from runtime.collectives.blocks import Blocks
from runtime.collectives.layout import Layout
from runtime.collectives.port import Data
from runtime.collectives.turns import UNDER_WAY, SendTurns
from runtime.errors import GridError

WAN, LAN = 1000.0, 10.0
"""Latencies; native calls take no time."""

Places = Sequence[tuple[int, int]]
Combine = Callable[[memoryview, memoryview], None]


@dataclass(eq=False)
class Op:
    """An operation of one member."""

    done: bool = False
    data: bytes | bytearray | memoryview | None = None
    size: int | None = None
    error: GridError | None = None


@dataclass(eq=False)
class Message:
    pieces: tuple[Data, ...]
    snapshot: bytes
    arrived: bool = False


@dataclass(eq=False)
class NativeCall:
    kind: tuple[object, ...]
    takes: memoryview | Blocks | None
    gives: memoryview | Blocks | None
    op: Op


class Machine:
    """Sites and clusters; `bandwidth` is bytes per time unit of the link between two sites."""

    def __init__(self, places: Places, bandwidth: float = float("inf")) -> None:
        self.places = places
        self.bandwidth = bandwidth
        self.now = 0.0
        self.round_trip = 0.0
        """Seconds there and back between two sites, as senders know it."""
        self.holds = UNDER_WAY
        """Bytes that a site begins with on the line to another one."""
        self.under_way: dict[tuple[int, int], int] = defaultdict(int)
        self.most_under_way: dict[tuple[int, int], int] = defaultdict(int)
        """Bytes that one site had on their way to another one at a time."""
        self.wan_bytes: dict[tuple[int, int], int] = defaultdict(int)
        self.wan_messages: dict[tuple[int, int], int] = defaultdict(int)
        self.lan_bytes: dict[tuple[tuple[int, int], tuple[int, int]], int] = defaultdict(int)
        self.lan_messages: dict[tuple[tuple[int, int], tuple[int, int]], int] = defaultdict(int)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._free: dict[tuple[int, int], float] = defaultdict(float)
        self._messages: dict[tuple[int, int], deque[Message]] = defaultdict(deque)
        self._receives: dict[tuple[int, int], deque[Op]] = defaultdict(deque)
        self._native: dict[tuple[int, int], list[dict[int, NativeCall]]] = defaultdict(list)
        self._made: dict[int, int] = defaultdict(int)
        self.loses: tuple[int, int] | None = None
        """A member that is lost, and after how many of its steps."""
        self.lost: set[int] = set()

    def round_trip_from(self, source: int) -> Callable[[int], float]:
        here = self.places[source][0]
        return lambda rank: 0.0 if self.places[rank][0] == here else self.round_trip

    def members(self, place: tuple[int, int]) -> list[int]:
        return [rank for rank, other in enumerate(self.places) if other == place]

    def run(
        self,
        algorithm: Callable[[Layout, Any], Generator[Any, None, Any]],
        combine: Combine | None = None,
        ranks: Sequence[int] | None = None,
    ) -> list[Any]:
        """Run an algorithm at all members, or some, and return what each got."""
        results: dict[int, Any] = {}
        steps: dict[int, int] = defaultdict(int)
        waiting: dict[int, tuple[Generator[Any, None, Any], Sequence[Op]]] = {}
        who = range(len(self.places)) if ranks is None else ranks
        ports = []
        for rank in who:
            layout, port = Layout(self.places, rank), SimulatedPort(self, rank, combine)
            waiting[rank] = algorithm(layout, port), ()
            ports.append(port)
        while waiting:
            for port in ports:
                port.look()
            moved = False
            for rank, (task, operations) in list(waiting.items()):
                if all(op.done for op in operations):
                    moved = True
                    steps[rank] += 1
                    if self.loses == (rank, steps[rank]):
                        del waiting[rank]
                        self._lose(rank)
                        continue
                    errors = [getattr(op, "error", None) for op in operations]
                    error = next(filter(None, errors), None)
                    try:
                        step = task.throw(error) if error is not None else next(task)
                        waiting[rank] = task, tuple(step)
                    except StopIteration as end:
                        results[rank] = end.value
                        del waiting[rank]
            if not moved and waiting:
                assert self._events, f"members {sorted(waiting)} wait for ever"
                self.now, _, action = heapq.heappop(self._events)
                action()
        while self._events:
            heapq.heappop(self._events)[2]()
        assert not any(self._messages.values()), "a message was sent that nobody received"
        assert not any(self._receives.values()), "a receive got nothing"
        return [results.get(rank) for rank in range(len(self.places))]

    def _lose(self, lost: int) -> None:
        """Drop what a member has not sent; all learn of that at once."""
        self.lost.add(lost)
        for (source, target), receives in self._receives.items():
            while lost in {source, target} and receives:
                _fail(receives.popleft())
        for (source, target), messages in self._messages.items():
            if lost in {source, target}:
                messages.clear()

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (time, self._count, action))

    def send(self, source: int, target: int, pieces: tuple[Data, ...]) -> Op:
        here, there = self.places[source], self.places[target]
        message = Message(pieces, b"".join(pieces))
        size = len(message.snapshot)
        flat = len({site for site, _ in self.places}) == 1
        done, latency = self.now, 0.0
        link = here[0], there[0]
        if here[0] != there[0]:
            self.wan_bytes[link] += size
            self.wan_messages[link] += 1
            done = max(self.now, self._free[link]) + size / self.bandwidth
            self._free[link] = done
            latency = WAN
        elif here != there:
            self.lan_bytes[here, there] += size
            self.lan_messages[here, there] += 1
            latency = WAN if flat else LAN
        op = Op()
        if target in self.lost:
            return _fail(op)
        self._messages[source, target].append(message)
        self.under_way[link] += size
        self.most_under_way[link] = max(self.most_under_way[link], self.under_way[link])

        def written() -> None:
            assert b"".join(message.pieces) == message.snapshot, "data changed while it was sent"
            op.done = True
            self.under_way[link] -= size

        def arrived() -> None:
            message.arrived = True
            self._match(source, target)

        self.at(done, written)
        self.at(done + latency, arrived)
        return op

    def receive(self, source: int, target: int, into: memoryview | None) -> Op:
        op = Op()
        if into is not None:
            assert not into.readonly
            op.data, op.size = into, len(into)
        if source in self.lost:
            return _fail(op)
        self._receives[source, target].append(op)
        self._match(source, target)
        return op

    def _match(self, source: int, target: int) -> None:
        messages, receives = self._messages[source, target], self._receives[source, target]
        while messages and receives and messages[0].arrived:
            data, op = messages.popleft().snapshot, receives.popleft()
            if op.size is None:
                op.data = memoryview(data)
            else:
                assert op.size == len(data), f"{op.size} bytes of room for {len(data)}"
                assert isinstance(op.data, memoryview)
                op.data[:] = data
            op.done = True

    def native(self, rank: int, call: NativeCall, combine: Combine | None) -> Sequence[Op]:
        place = self.places[rank]
        members, calls = self.members(place), self._native[place]
        number = self._made[rank]
        self._made[rank] += 1
        if number == len(calls):
            calls.append({})
        calls[number][rank] = call
        if len(calls[number]) == len(members):
            ordered = [calls[number][member] for member in members]
            assert len({c.kind for c in ordered}) == 1, [c.kind for c in ordered]
            self.at(self.now, lambda: _perform(ordered, combine))
        return (call.op,)


def _fail(op: Op) -> Op:
    op.done, op.error = True, GridError("a member is lost")
    return op


def _perform(  # noqa: PLR0912 - one branch for each native call
    calls: Sequence[NativeCall], combine: Combine | None
) -> None:
    name, *rest = calls[0].kind
    root = rest[0] if rest else 0
    assert isinstance(root, int)
    if name == "bcast":
        data = _view(calls[root].gives)
        for call in calls:
            if call is not calls[root]:
                _put(_view(call.gives), data)
    elif name == "reduce":
        assert combine is not None
        values = [memoryview(bytearray(_view(call.takes))) for call in calls]
        for left, right in pairwise(values):
            combine(left, right)
        _view(calls[root].gives)[:] = values[-1]
    elif name in {"gather", "allgather"}:
        for call in calls if name == "allgather" else [calls[root]]:
            for which, other in enumerate(calls):
                if other.takes is not None:
                    _put(_blocks(call.gives)[which], _view(other.takes))
                elif call is not other:
                    _put(_blocks(call.gives)[which], _blocks(other.gives)[which])
    elif name == "scatter":
        for which, call in enumerate(calls):
            if call.gives is not None:
                _put(_view(call.gives), _blocks(calls[root].takes)[which])
    elif name == "alltoall":
        for which, call in enumerate(calls):
            for source, other in enumerate(calls):
                _put(_blocks(call.gives)[source], _blocks(other.takes)[which])
    for call in calls:
        call.op.done = True


def _put(target: memoryview, data: memoryview) -> None:
    assert len(target) == len(data), f"{len(target)} bytes of room for {len(data)}"
    target[:] = data


def _view(value: memoryview | Blocks | None) -> memoryview:
    assert isinstance(value, memoryview)
    return value


def _blocks(value: memoryview | Blocks | None) -> Blocks:
    assert isinstance(value, Blocks)
    return value


class SimulatedPieces:
    """Pieces that are received."""

    def __init__(self, pieces: Sequence[Op]) -> None:
        self._pieces = pieces

    @property
    def done(self) -> bool:
        return all(piece.done for piece in self._pieces)


class SimulatedTurns:
    """Blocks that take turns, and go on whenever somebody looks."""

    def __init__(self, turns: SendTurns[Op]) -> None:
        self._turns = turns
        self._turns.go_on()

    @property
    def has_begun_all(self) -> bool:
        return self._turns.has_begun_all

    @property
    def done(self) -> bool:
        return self._turns.is_over

    def go_on(self) -> None:
        self._turns.go_on()


class SimulatedPort:
    """One member's port to the machine."""

    call = 7

    def __init__(self, machine: Machine, rank: int, combine: Combine | None) -> None:
        self.machine, self.rank, self._combine = machine, rank, combine
        self._turns: list[SimulatedTurns] = []

    def compare(self, calls: Mapping[int, int]) -> None:
        assert {*calls.values()} == {self.call}
        assert {*calls} <= {*self.machine.members(self.machine.places[self.rank])}

    def look(self) -> None:
        for turns in self._turns:
            turns.go_on()

    def send(self, rank: int, *pieces: Data) -> Op:
        return self.machine.send(self.rank, rank, pieces)

    def in_turn(self, blocks: Sequence[tuple[int, memoryview]], members: int) -> SimulatedTurns:
        trips = self.machine.round_trip_from(self.rank)
        turns = SendTurns(
            blocks,
            members,
            self.send,
            trips,
            lambda: self.machine.now,
            under_way=self.machine.holds,
        )
        self._turns.append(SimulatedTurns(turns))
        return self._turns[-1]

    def receive(self, rank: int, into: memoryview) -> Op:
        return self.machine.receive(rank, self.rank, into)

    def receive_pieces(self, rank: int, into: Sequence[memoryview], size: int) -> SimulatedPieces:
        assert [len(piece) < size for piece in into] == [*[False] * (len(into) - 1), True]
        return SimulatedPieces([self.receive(rank, piece) for piece in into])

    def expect(self, rank: int) -> Op:
        return self.machine.receive(rank, self.rank, None)

    def combine(self, left: memoryview, right: memoryview) -> None:
        assert self._combine is not None
        self._combine(left, right)

    def _call(
        self,
        kind: tuple[object, ...],
        takes: memoryview | Blocks | None = None,
        gives: memoryview | Blocks | None = None,
    ) -> Sequence[Op]:
        return self.machine.native(self.rank, NativeCall(kind, takes, gives, Op()), self._combine)

    def barrier(self) -> Sequence[Op]:
        return self._call(("barrier",))

    def bcast(self, data: memoryview, root: int) -> Sequence[Op]:
        return self._call(("bcast", root, len(data)), None, data)

    def reduce(self, mine: memoryview, into: memoryview | None, root: int) -> Sequence[Op]:
        return self._call(("reduce", root, len(mine)), mine, into)

    def gather(self, mine: memoryview | None, into: Blocks | None, root: int) -> Sequence[Op]:
        return self._call(("gather", root), mine, into)

    def scatter(self, blocks: Blocks | None, mine: memoryview | None, root: int) -> Sequence[Op]:
        return self._call(("scatter", root), blocks, mine)

    def allgather(self, mine: memoryview | None, into: Blocks) -> Sequence[Op]:
        return self._call(("allgather",), mine, into)

    def alltoall(self, outgoing: Blocks, incoming: Blocks) -> Sequence[Op]:
        return self._call(("alltoall",), outgoing, incoming)


@pytest.fixture
def machine() -> type[Machine]:
    """Make machines out of the places of their members."""
    return Machine
