"""Lanes of a pair whose events come in an order that is chosen, between sockets of this process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from runtime.transport.decrypted import DECRYPTED
from runtime.wire.dialling.line import READ, WRITE
from runtime.wire.errors import BadFrame, PeerLost
from runtime.wire.lanes.pair_lanes import Lanes
from runtime.wire.stream.duplex import DuplexStream
from runtime.wire.stream.frames import LANE, LANE_OVER, WIDEN, pack
from runtime.wire.stream.messages import Incoming, MessageSink, Outgoing
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.sender import MessageSender

MIB = 1 << 20


class Opened:
    """An attempt that has succeeded when it is looked at."""

    is_passive = False
    events = READ

    def __init__(self, connected: socket.socket) -> None:
        self._connected = connected
        self.deadline = 1e9
        self.close = connected.close
        self.fileno = connected.fileno

    def step(self, now: float) -> tuple[socket.socket, bytes]:
        del now
        return self._connected, b""


@dataclass
class Ear:
    """A receiver that matches at once."""

    completed_payloads: list[bytes] = field(default_factory=list)

    def arrived(self, incoming: Incoming) -> None:
        incoming.give(memoryview(bytearray(incoming.size)))

    def completed(self, incoming: Incoming) -> None:
        assert incoming.payload is not None
        self.completed_payloads.append(bytes(incoming.payload))

    def lost(self, peer: int, why: Exception) -> None:
        raise AssertionError("halves lose nobody")


class Side:
    """One rank of the pair, with what is around its lanes; `dial` says what comes of dialling."""

    silence, resume_timeout = 30.0, 20.0
    suspect: Callable[[int, PeerLost | None], None] | None = None
    ask_for_end: Callable[[int], None] | None = None
    are_all_ends_told = False

    def __init__(self, me: int) -> None:
        self.me = me
        self.ear = Ear()
        self.sink: MessageSink = self.ear
        self.connector: Any = self
        self.stage = memoryview(bytearray(16 << 10))
        self.handlers: dict[int, Callable[[int], bool]] = {}
        self.time = 1000.0
        self.dial: Callable[[], Any] = lambda: None
        self.dials = 0
        self.room = True
        self.sender = MessageSender()
        self.receiver = MessageReceiver(
            1 - me, self.sink, self.sender, kick=self.kick, goodbye=self.kick
        )
        self.why: list[PeerLost] = []
        self.first, self._other = socket.socketpair()
        duplex = DuplexStream(self.receiver, self.sender)
        self.lanes = Lanes(1 - me, self, duplex, self)
        self.lanes.joined(self.first)
        self.receiver.lanes = self.lanes.handle_frame
        self.sender.more = self.lanes.more
        self.receiver.count()
        self.sender.keep()

    def close(self) -> None:
        self.lanes.close()
        self.first.close()
        self._other.close()

    def kick(self) -> None:
        """Be kicked: the test says when something goes over the first connection."""

    tick_soon = kick

    def give_up(self, why: PeerLost) -> None:
        self.why.append(why)

    def now(self) -> float:
        return self.time

    def link_to(self, peer: int) -> str:
        return f"the link to {peer}"

    def describe(self, peer: int) -> str:
        return f"rank {peer}"

    def is_near(self, peer: int) -> bool:
        return peer == self.me

    def watch_descriptor(
        self, descriptor: int, events: int, handle: Callable[[int], bool] | None, /
    ) -> None:
        del events
        if handle is None:
            self.handlers.pop(descriptor, None)
        else:
            self.handlers[descriptor] = handle

    def again(self, peer: int, now: float) -> Any:
        del peer, now
        self.dials += 1
        return self.dial()

    def has_room(self) -> bool:
        return self.room

    def tick(self, later: float = 0.0) -> None:
        self.time += later
        self.lanes.tick(self.time)

    def serve_lanes(self) -> None:
        for handle in list(self.handlers.values()):
            handle(READ | WRITE)

    def send(self, size: int) -> tuple[bytes, Outgoing]:
        payload = (bytes(range(256)) * (size // 256 + 1))[:size]
        return payload, self.sender.put(b"head", [memoryview(payload)])

    def say(self) -> bytes:
        """Return what goes over the first connection at once."""
        said = b"".join(self.sender.batch())
        self.sender.wrote(len(said))
        return said


class Both:
    """A rank that dials lanes, one that accepts them, and their first connection."""

    def __init__(self, sockets: ExitStack) -> None:
        self.sockets = sockets
        self.dialler, self.acceptor = Side(0), Side(1)
        self.dialler.dial = self.dial
        self.accepted: list[socket.socket] = []

    def dial(self) -> Opened:
        ours, theirs = map(self.sockets.enter_context, socket.socketpair())
        self.accepted.append(theirs)
        return Opened(ours)

    def want(self, connections: int) -> None:
        """Let the one who accepts want so many, and the other one know that."""
        self.acceptor.lanes._scale_out.wanted = connections
        self.acceptor.lanes._measured_at = 0.0
        self.acceptor.tick()
        self.talk()
        self.dialler.tick()

    def admit(self) -> None:
        while self.accepted:
            self.acceptor.lanes.admit(self.accepted.pop(0), b"")

    def talk(self) -> None:
        """Move what both say over the first connection until neither says more."""
        moves = True
        while moves:
            moves = False
            for one, other in ((self.dialler, self.acceptor), (self.acceptor, self.dialler)):
                while said := one.say():
                    other.receiver.feed(said)
                    moves = True

    def go_on(self) -> None:
        """Move all there is."""
        for _ in range(20):
            self.admit()
            for one in (self.dialler, self.acceptor):
                one.serve_lanes()
                one.tick()
            self.talk()


@pytest.fixture
def both() -> Iterator[Both]:
    with ExitStack() as sockets:
        made = Both(sockets)
        yield made
        made.dialler.close()
        made.acceptor.close()


def break_lane(side: Side) -> None:
    """Let a lane break at one end, which the other end does not see."""
    (lane,) = side.lanes._open.values()
    lane._failed(ConnectionResetError("only here"))
    side.tick()


def test_a_lane_that_is_over_before_its_opening_is_seen_is_not_used(both: Both) -> None:
    both.want(2)
    payload, outgoing = both.acceptor.send(2 * MIB)
    both.dialler.receiver.feed(both.acceptor.say())  # the head, and first segments
    both.admit()
    (lane,) = both.acceptor.lanes._open.values()
    assert lane.sender.written > 0
    break_lane(both.acceptor)
    both.dialler.receiver.feed(both.acceptor.say())
    assert not both.dialler.lanes._openings
    assert not both.dialler.handlers
    both.go_on()
    assert both.dialler.ear.completed_payloads == [payload]
    assert outgoing.done
    assert not both.acceptor.lanes._over  # nothing is waited for any more


def test_a_lane_that_there_has_never_been_cannot_be_over(both: Both) -> None:
    both.want(2)
    for side, number in ((both.dialler, 2), (both.dialler, 1), (both.acceptor, 0)):
        with pytest.raises(BadFrame, match=f"lane {number} is said to be over, which there has"):
            side.lanes.handle_frame(LANE_OVER, number, 0)


def test_who_says_over_a_lane_what_nobody_can_say_is_lost(both: Both) -> None:
    both.want(2)
    (connected,) = both.accepted
    both.admit()
    both.dialler.serve_lanes()
    both.dialler.tick()
    assert both.dialler.lanes.count == 1
    connected.send(pack(LANE_OVER, 0, 0, 0, 0) + bytes(8))
    both.dialler.serve_lanes()
    both.dialler.tick()
    (why,) = both.dialler.why
    assert why.what == f"rank 1 is lost: a frame of kind {LANE_OVER} came over a lane"
    assert both.dialler.say() == b""  # of what is wrong nothing is said to have come


class Refused(Opened):
    """An attempt that fails as soon as it is looked at."""

    def step(self, now: float) -> tuple[socket.socket, bytes]:
        self._connected.close()
        raise PeerLost(f"it cannot be reached at {now}")


def test_nobody_dials_on_when_a_lane_cannot_be_opened(both: Both) -> None:
    listener, visitor = map(both.sockets.enter_context, socket.socketpair())
    both.dialler.dial = lambda: Refused(visitor)
    both.want(5)
    assert both.dialler.dials == 1
    assert not both.dialler.lanes._openings
    both.want(5)
    assert both.dialler.dials == 1
    assert listener.fileno() >= 0
    both.dialler.dial = both.dial
    both.dialler.tick(later=1)
    assert both.dialler.dials == 5


def test_no_lane_is_opened_while_the_first_connection_is_interrupted(both: Both) -> None:
    both.dialler.first.close()
    both.want(3)
    assert both.dialler.dials == 0
    one, other = map(both.sockets.enter_context, socket.socketpair())
    both.dialler.lanes.joined(one)
    both.dialler.tick()
    assert both.dialler.dials == 2
    both.acceptor.first.close()
    both.admit()
    assert not both.acceptor.lanes._openings
    assert other.fileno() >= 0


def test_a_pair_that_is_closed_opens_no_lanes(both: Both) -> None:
    both.dialler.lanes.close()
    both.dialler.lanes.handle_frame(WIDEN, 0, 17)
    both.dialler.tick(later=1)
    assert both.dialler.dials == 0
    assert both.dialler.lanes.deadline is None


@pytest.mark.parametrize("number", [1, 0])
def test_a_lane_with_a_number_that_the_peer_cannot_give_is_refused(both: Both, number: int) -> None:
    both.want(2)
    both.admit()  # of lane 0
    ours, theirs = map(both.sockets.enter_context, socket.socketpair())
    ours.send(pack(LANE, 0, 0, number, 0))
    both.acceptor.lanes.admit(theirs, b"")
    assert both.acceptor.lanes.count == 1
    assert not both.acceptor.lanes._openings
    assert ours.recv(100) == b""


def test_the_memory_of_a_message_is_free_when_it_is_done(both: Both) -> None:
    both.want(3)
    both.go_on()
    assert both.acceptor.lanes.count == 2
    memory = bytearray(5 * MIB)
    view = memoryview(memory)
    outgoing = both.acceptor.sender.put(b"head", [view])
    del view
    for _ in range(100):
        if outgoing.done:
            break
        both.dialler.tick()
        both.dialler.serve_lanes()
        both.acceptor.serve_lanes()
        both.dialler.receiver.feed(both.acceptor.say())
        both.acceptor.receiver.feed(both.dialler.say())
    assert outgoing.done
    memory.append(1)  # which it cannot while anybody holds a view of it


def test_an_end_without_room_is_left_alone_for_a_while(both: Both) -> None:
    dialler, acceptor = both.dialler, both.acceptor
    dialler.lanes._scale_out.wanted = dialler.lanes._scale_out._kept = 4
    dialler.tick()
    both.talk()
    both.go_on()
    assert dialler.lanes.count == acceptor.lanes.count == 3
    assert not acceptor.lanes.narrow(acceptor.time)
    both.go_on()
    assert dialler.lanes.count == acceptor.lanes.count == 0
    assert acceptor.lanes.narrow(acceptor.time)
    for _ in range(20):
        dialler.time += 1
        both.go_on()
    assert dialler.dials == 3
    assert dialler.lanes._scale_out.wanted == 1


def test_a_lane_is_refused_where_there_is_no_room(both: Both) -> None:
    both.want(2)
    both.acceptor.room = False
    both.admit()
    assert both.acceptor.lanes.count == 0
    both.dialler.serve_lanes()
    assert both.dialler.lanes.count == 0
    both.acceptor.room = True
    both.dialler.tick(later=1)
    both.go_on()
    assert both.acceptor.lanes.count == 1
    both.acceptor.lanes.handle_frame(WIDEN, 0, 2)
    assert not both.acceptor.lanes.narrow(both.acceptor.time)
    both.dialler.dials = 0
    late = both.dial()
    both.admit()
    assert both.acceptor.lanes.count == 1
    assert late.fileno() >= 0


def test_lanes_that_are_being_opened_count(both: Both) -> None:
    both.want(4)
    assert both.dialler.lanes.count == 3


@pytest.mark.parametrize("is_decrypted", [True, False])
def test_a_lane_that_waits_for_a_head_is_not_offered_what_is_decrypted_already(
    both: Both, is_decrypted: bool
) -> None:
    both.want(2)
    both.admit()
    both.dialler.serve_lanes()
    payload, _ = both.acceptor.send(MIB)
    head = both.acceptor.say()
    both.acceptor.serve_lanes()
    both.dialler.send(8 * MIB)
    both.dialler.say()
    both.dialler.lanes.more()
    (descriptor,) = both.dialler.handlers
    DECRYPTED.update([descriptor] * is_decrypted)
    try:
        both.dialler.serve_lanes()
        (lane,) = both.dialler.lanes._open.values()
        assert lane.receiver.is_waiting
        assert (descriptor in both.dialler.handlers) is not is_decrypted
        both.dialler.receiver.feed(head)
        both.dialler.tick()
        assert descriptor in both.dialler.handlers
    finally:
        DECRYPTED.discard(descriptor)
    assert payload
