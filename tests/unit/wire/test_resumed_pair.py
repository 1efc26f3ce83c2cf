"""Both halves of two ends, over connections that break anywhere: nothing lost, twice, or late."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.wire.errors import BadFrame
from runtime.wire.stream.frames import CAME, MOST_COPIED, REST, pack
from runtime.wire.stream.messages import SENT, Incoming, Outgoing
from runtime.wire.stream.receiver import UNTOLD, MessageReceiver
from runtime.wire.stream.replay import total
from runtime.wire.stream.sender import MessageSender

KIB = 1 << 10
MIB = 1 << 20
WINDOW = 2 * MIB  # small, so that much waits for its match


def nothing() -> None:
    """Be kicked."""


def pattern(size: int, seed: int) -> bytearray:
    return bytearray((bytes(range(1 + seed % 9, 251)) * (size // 241 + 1))[:size])


@dataclass
class Message:
    """What was sent; its memory is spoiled as soon as it is said to be free."""

    data: bytearray
    outgoing: Outgoing

    def spoil(self) -> None:
        if self.outgoing.done and self.data:
            self.data[:] = bytes(len(self.data))


@dataclass
class End:
    """One end of a pair, and what it has written that the other one has not got yet."""

    sender: MessageSender = field(default_factory=lambda: MessageSender(WINDOW))
    sent: list[Message] = field(default_factory=list)
    came: list[Incoming] = field(default_factory=list)
    in_flight: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.receiver = MessageReceiver(
            7, self, self.sender, kick=nothing, goodbye=nothing, window=WINDOW
        )
        self.receiver.count()
        self.sender.keep()

    def arrived(self, incoming: Incoming) -> None:
        assert incoming.head == b"%d" % len(self.came)
        self.came.append(incoming)

    def completed(self, incoming: Incoming) -> None:
        assert incoming.done

    def lost(self, peer: int, why: Exception) -> None:
        raise AssertionError("machines lose nobody")

    def send(self, size: int, sync: bool) -> None:
        number = len(self.sent)
        data = pattern(size, number)
        head = b"%d" % number
        passing = None if sync else self.sender.pass_by(head, [memoryview(data)])
        if passing is None:
            outgoing = self.sender.put(head, [memoryview(data)], sync)
        elif number % 2:
            outgoing = self.sender.put_back(passing, 0)
        else:
            self.in_flight += b"".join(passing)
            if len(passing) == 1:
                self.sender.passed.append(passing)
            else:
                self.sender.passed_large(passing, total(passing))
            outgoing = SENT
        self.sent.append(Message(data, outgoing))

    def write(self, most: int = 1 << 40) -> bool:
        data = b"".join(self.sender.batch())[:most]
        if data:
            self.sender.wrote(len(data))
            self.in_flight += data
        self.spoil()
        return bool(data)

    def spoil(self) -> None:
        for message in self.sent:
            message.spoil()

    def match(self) -> None:
        for one in self.came:
            if not one.is_matched:
                one.take()
                return


def deliver(source: End, target: End, most: int = 1 << 40) -> None:
    data = bytes(source.in_flight[:most])
    del source.in_flight[:most]
    target.receiver.feed(data)


def connect(a: End, b: End) -> None:
    """Replace a connection that broke: both tell to where they came."""
    for one in (a, b):
        one.in_flight.clear()
    a.sender.resume(b.receiver.position)
    b.sender.resume(a.receiver.position)


def settle(a: End, b: End) -> None:
    """Let all be matched and all arrive."""
    going = True
    while going:
        deliver(a, b)
        deliver(b, a)
        for one in (a, b):
            while any(not incoming.is_matched for incoming in one.came):
                one.match()
        going = any([a.write(), b.write()])


def check(source: End, target: End) -> None:
    assert len(target.came) == len(source.sent)
    for number, (message, incoming) in enumerate(zip(source.sent, target.came, strict=True)):
        assert incoming.done
        assert message.outgoing.done
        assert message.outgoing.error is None
        assert bytes(incoming.payload or b"") == pattern(incoming.size, number)
        assert incoming.size == len(message.data)
    assert source.sender.is_finished


SIZES = st.one_of(
    st.integers(0, 40),
    st.sampled_from([2049, 8 * KIB + 1, 256 * KIB, 256 * KIB + 1, MIB, 3 * MIB]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.booleans(), SIZES, st.booleans()),
        st.tuples(st.just("write"), st.booleans(), st.integers(1, 1 << 20), st.just(False)),
        st.tuples(st.just("deliver"), st.booleans(), st.integers(1, 1 << 20), st.just(False)),
        st.tuples(st.just("match"), st.booleans(), st.just(0), st.just(False)),
        st.tuples(st.just("break"), st.booleans(), st.integers(0, 1 << 20), st.just(False)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=100)
@given(STEPS)
def test_all_arrives_once_and_in_order_wherever_connections_break(
    steps: list[tuple[str, bool, int, bool]],
) -> None:
    ends = End(), End()
    for what, which, size, sync in steps:
        one, other = ends[which], ends[not which]
        if what == "send":
            one.send(size, sync)
        elif what == "write":
            one.write(size)
        elif what == "deliver":
            deliver(one, other, size)
        elif what == "match":
            one.match()
        else:
            deliver(one, other, size)
            connect(*ends)
        one.spoil()
    settle(*ends)
    check(*ends)
    check(*reversed(ends))


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.integers(1, 70), min_size=1, max_size=60),
    st.lists(st.tuples(SIZES, st.booleans()), min_size=1, max_size=6),
)
def test_breaks_in_every_head(steps: list[int], messages: list[tuple[int, bool]]) -> None:
    a, b = End(), End()
    for size, sync in messages:
        a.send(size, sync)
        b.send(size, not sync)
    for step in steps:
        for source, target in ((a, b), (b, a)):
            source.write(step)
            deliver(source, target)
            target.match()
        connect(a, b)
    settle(a, b)
    check(a, b)
    check(b, a)


def test_payloads_that_are_copied_are_done_at_once_and_others_once_they_have_come() -> None:
    a, b = End(), End()
    a.send(MOST_COPIED, sync=False)
    a.send(MOST_COPIED + 1, sync=False)
    copied, stays = (message.outgoing for message in a.sent)
    assert copied.done
    while a.write():
        pass
    assert not stays.done
    assert not a.sender.is_finished
    deliver(a, b)
    b.write()
    deliver(b, a)
    a.spoil()
    assert stays.done is a.sender.is_finished is True


def test_what_waits_for_its_match_goes_on_over_the_next_connection() -> None:
    a, b = End(), End()
    a.send(5 * MIB, sync=False)
    a.send(5, sync=True)
    while a.write():
        deliver(a, b)
    connect(a, b)
    assert not any(message.outgoing.done for message in a.sent)
    b.match()
    b.match()
    assert b.write()
    connect(a, b)  # what said that they were matched is lost
    settle(a, b)
    check(a, b)


def test_the_peer_is_told_now_and_then_and_what_it_told_is_let_go() -> None:
    a, b = End(), End()
    assert a.sender.replay is not None
    for _ in range(3 * UNTOLD // (64 * KIB)):
        a.send(64 * KIB, sync=False)
        a.write()
        deliver(a, b)
        b.match()
        b.write()
        deliver(b, a)
        kept = sum(map(len, a.sender.replay.since(a.sender.replay.start)))
        assert kept < UNTOLD + 65 * KIB
    told = b.sender.end
    while a.write() or b.write():
        deliver(a, b)
        deliver(b, a)
    assert b.sender.end - told < 100  # nobody answers what only tells


def test_what_was_let_go_cannot_be_asked_for_nor_what_was_never_written() -> None:
    a, b = End(), End()
    a.send(2 * MIB, sync=False)
    while a.write():
        deliver(a, b)
    b.write()
    deliver(b, a)
    with pytest.raises(BadFrame, match="it asks for what it has had, from byte 0 on"):
        a.sender.resume(0)
    with pytest.raises(BadFrame, match=f"byte {a.sender.end + 1} came of {a.sender.end}"):
        a.sender.resume(a.sender.end + 1)
    with pytest.raises(BadFrame, match="byte 5 came of 0 that were written"):
        End().receiver.feed(pack(CAME, 0, 0, 5, 0))


def test_where_nothing_can_be_resumed_nobody_is_told() -> None:
    sender = MessageSender()
    ear = End()
    receiver = MessageReceiver(7, ear, sender, kick=nothing, goodbye=nothing)
    source = MessageSender()
    source.put(b"0", [memoryview(bytes(4 * MIB))])
    while batch := source.batch():
        data = b"".join(batch)
        receiver.feed(data)
        source.wrote(len(data))
    assert sender.is_idle
    assert source.is_finished
    assert source.replay is None
    with pytest.raises(BadFrame, match="byte 1 came of"):
        source.came(1)


def test_what_was_put_before_there_was_a_connection_is_done_once_it_is_copied() -> None:
    a, b = End(), End()
    sender = a.sender = MessageSender(WINDOW)
    a.receiver = MessageReceiver(7, a, sender, kick=nothing, goodbye=nothing)
    sizes = (5, 5000, 100 * KIB, 256 * KIB + 1, MIB)
    for number, size in enumerate(sizes):
        data = pattern(size, number)
        outgoing = sender.put(b"%d" % number, [memoryview(data)])
        a.sent.append(Message(data, outgoing))
    a.send(3000, sync=True)
    a.receiver.count()
    sender.keep()
    a.spoil()
    assert [one.outgoing.done for one in a.sent] == [True, True, True, False, False, False]
    settle(a, b)
    check(a, b)


def test_while_it_is_held_nothing_new_is_written() -> None:
    a, b = End(), End()
    a.sender.put_frame(REST)
    assert b"".join(a.sender.batch()) == pack(REST, 0, 0, 0, 0)
    a.sender.is_held = True
    a.sender.put(b"0", [memoryview(b"later")])
    a.write()
    assert a.sender.batch() == []
    a.sender.is_held = False
    a.write()
    deliver(a, b)
    assert b.receiver.rest_word == REST
    assert [one.head for one in b.came] == [b"0"]
