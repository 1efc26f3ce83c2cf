"""Parts of payloads over several connections, joined by nothing but bytes, in any order."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.wire.errors import BadFrame, PeerLost
from runtime.wire.lanes.lane import LaneReceiver, LaneSender
from runtime.wire.stream.frames import ASKS, MESSAGE, OFFSET_SIZE, SEGMENT, pack, pack_segment
from runtime.wire.stream.messages import Incoming, Outgoing
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.sender import MessageSender

KIB = 1 << 10
MIB = 1 << 20


def nothing() -> None:
    """Be kicked."""


@dataclass
class Ear:
    """A receiver that matches at once, or when it is asked to."""

    matches: bool = True
    kept: list[Incoming] = field(default_factory=list)
    completed_once: list[bytes] = field(default_factory=list)

    def arrived(self, incoming: Incoming) -> None:
        self.kept.append(incoming)
        if self.matches:
            incoming.give(memoryview(bytearray(incoming.size)))

    def completed(self, incoming: Incoming) -> None:
        self.completed_once.append(incoming.head)

    def lost(self, peer: int, why: Exception) -> None:
        raise AssertionError("machines lose nobody")


class Way:
    """One lane, in one direction, with what is on its way."""

    def __init__(self, source: MessageSender, target: MessageReceiver) -> None:
        self.sender = LaneSender(source.under_way)
        self.receiver = LaneReceiver(target)
        self.flying = deque[bytes]()

    def write(self, most: int) -> None:
        data = b"".join(self.sender.batch())[:most]
        if data:
            self.sender.wrote(len(data))
            self.flying.append(data)

    def read(self) -> None:
        if self.receiver.is_waiting:
            self.receiver.go_on()
        while self.flying and not self.receiver.is_waiting:
            feed(self.receiver, self.flying)


def feed(receiver: LaneReceiver, flying: deque[bytes]) -> None:
    """Let an receiver receive from what is on its way, as a connection does."""
    data = flying.popleft()
    space = receiver.space() if receiver.current is None else receiver.spaces()[0]
    count = min(len(space), len(data))
    space[:count] = data[:count]
    if count < len(data):
        flying.appendleft(data[count:])
    receiver.filled(count)


class Sides:
    """Who sends and who receives, with the first connection and lanes between."""

    def __init__(self, lanes: int, *, matches: bool = True) -> None:
        self.ear = Ear(matches)
        self.source, self.answers = MessageSender(window=MIB), MessageSender()
        self.hears = MessageReceiver(1, self.ear, self.source, kick=nothing, goodbye=nothing)
        self.woken = 0
        self.target = MessageReceiver(
            0, self.ear, self.answers, kick=nothing, goodbye=self._wake, window=MIB
        )
        self.lanes = [Way(self.source, self.target) for _ in range(lanes)]
        self.sent: list[tuple[bytes, bytes, Outgoing]] = []

    def _wake(self) -> None:
        self.woken += 1

    def send(self, size: int, *, sync: bool = False) -> Outgoing:
        number = len(self.sent)
        head, payload = b"%d" % number, (bytes(range(number, 256)) * (size // 64 + 1))[:size]
        outgoing = self.source.put(head, [memoryview(payload)], sync)
        self.sent.append((head, payload, outgoing))
        return outgoing

    def first(self, most: int = 1 << 40) -> None:
        """Move what the first connection takes, and what is answered."""
        data = b"".join(self.source.batch())[:most]
        if data:
            self.source.wrote(len(data))
            self.target.feed(data)
        while answer := b"".join(self.answers.batch()):
            self.answers.wrote(len(answer))
            self.hears.feed(answer)

    def break_lane(self, number: int) -> None:
        """Lose what is on its way, tell how far the other end is, and have another one."""
        way = self.lanes[number]
        self.source.under_way.take_back(way.sender.lost(way.receiver.leave()))
        self.lanes[number] = Way(self.source, self.target)

    def finish(self) -> None:
        while not self.source.is_finished:
            before = self.source.bytes, self.target.bytes, self.source.under_way.backlog
            self.first()
            for way in self.lanes:
                way.write(1 << 40)
                way.read()
            self.first()
            after = self.source.bytes, self.target.bytes, self.source.under_way.backlog
            moves = any(way.flying for way in self.lanes) or not self.source.is_idle
            assert before != after or moves or self.source.is_finished

    def check(self) -> None:
        assert [one.head for one in self.ear.kept] == [head for head, _, _ in self.sent]
        for one, (_, payload, outgoing) in zip(self.ear.kept, self.sent, strict=True):
            assert one.done
            assert one.payload is not None
            assert bytes(one.payload) == payload
            assert outgoing.done
            assert outgoing.error is None
        assert len(set(self.ear.completed_once)) == len(self.ear.completed_once)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["first", "write", "read", "break"]),
        st.integers(0, 2),
        st.sampled_from([1, 20, 27, 28, 29, 1000, 256 * KIB, 256 * KIB + 28, 1 << 40]),
    ),
    max_size=60,
)
SIZES = st.lists(st.sampled_from([10, 9 * KIB, 256 * KIB + 1, MIB + 7, 2 * MIB]), max_size=4)


@settings(max_examples=80, deadline=None)
@given(SIZES, STEPS, st.booleans())
def test_all_arrives_once_whatever_breaks_and_in_whatever_order_it_comes(
    sizes: list[int], steps: list[tuple[str, int, int]], sync: bool
) -> None:
    sides = Sides(lanes=3)
    for size in sizes:
        sides.send(size, sync=sync)
    for what, number, most in steps:
        match what:
            case "first":
                sides.first(most)
            case "write":
                sides.lanes[number].write(most)
            case "read":
                sides.lanes[number].read()
            case _:
                sides.break_lane(number)
    sides.finish()
    sides.check()
    assert sides.target.bytes == sum(sizes)


def test_a_segment_that_overtakes_the_head_of_its_message_waits_for_it() -> None:
    sides = Sides(lanes=1)
    outgoing = sides.send(MIB)
    frame = b"".join(sides.source.batch())  # the head and two segments
    sides.source.wrote(len(frame))
    (way,) = sides.lanes
    way.write(1 << 40)
    way.read()
    assert way.receiver.is_waiting
    with pytest.raises(BlockingIOError):
        way.receiver.space()
    way.receiver.go_on()
    assert way.receiver.is_waiting
    sides.target.feed(frame)
    assert sides.woken == 1
    way.read()
    assert way.receiver.leave() == 256 * KIB + 28
    assert not outgoing.done
    sides.finish()
    sides.check()


def test_what_came_in_any_order_moves_to_a_buffer_that_is_given_late() -> None:
    sides = Sides(lanes=1, matches=False)
    sides.send(MIB)
    (way,) = sides.lanes
    sides.source.wrote(sum(map(len, sides.source.batch()[:1])))  # the head alone
    sides.target.feed(pack(MESSAGE, 0, 1, 0, MIB) + b"0")
    way.write(1 << 40)
    lost, kept = Way(sides.source, sides.target), way
    lost.write(1 << 40)  # the third quarter came here, the second one not yet
    lost.read()
    (incoming,) = sides.ear.kept
    assert incoming.came == 256 * KIB
    assert incoming.reach == 768 * KIB
    incoming.give(memoryview(bytearray(MIB)))
    kept.read()
    payload = sides.sent[0][1]
    assert incoming.payload is not None
    assert bytes(incoming.payload[256 * KIB : 768 * KIB]) == payload[256 * KIB : 768 * KIB]


def test_a_message_over_lanes_is_done_when_it_is_whole_and_not_before() -> None:
    sides = Sides(lanes=1)
    outgoing = sides.send(512 * KIB)
    sides.first(21)
    sides.lanes[0].write(1 << 40)
    sides.first()
    assert not outgoing.done
    assert not sides.source.is_finished
    sides.lanes[0].read()
    assert not outgoing.done
    sides.first()
    assert outgoing.done


def test_a_synchronous_message_over_lanes_is_done_when_it_is_matched_as_well() -> None:
    sides = Sides(lanes=1, matches=False)
    outgoing = sides.send(512 * KIB, sync=True)
    sides.first(21)
    for _ in range(2):
        sides.lanes[0].write(1 << 40)
    sides.lanes[0].read()
    sides.first()
    assert not outgoing.done
    sides.ear.kept[0].take()
    sides.first()
    assert outgoing.done


def test_what_was_written_to_lanes_fails_with_the_peer() -> None:
    sides = Sides(lanes=1)
    outgoing = sides.send(512 * KIB)
    sides.first(21)
    for _ in range(2):
        sides.lanes[0].write(1 << 40)
    fault = PeerLost("it is gone")
    sides.source.fail(fault)
    assert outgoing.done
    assert outgoing.error is fault


def test_what_has_come_is_let_go() -> None:
    sides = Sides(lanes=1)
    sides.send(2 * MIB)
    sides.first(21)
    sides.lanes[0].write(1 << 40)
    assert not sides.lanes[0].sender.is_clear()
    sides.finish()
    assert sides.lanes[0].sender.is_clear()
    assert sides.lanes[0].sender.lost(28) == []


def test_a_lane_that_is_held_takes_nothing_new() -> None:
    sides = Sides(lanes=1)
    sides.send(2 * MIB)
    sides.first(21)
    sender = sides.lanes[0].sender
    half = len(sender.batch()[0])
    sender.wrote(half)
    sender.is_held = True
    sides.lanes[0].write(1 << 40)
    assert sender.is_idle
    assert sender.batch() == []
    assert sender.written == 256 * KIB + 28


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pack(MESSAGE, 0, 0, 0, 100) + bytes(8), "a frame of kind 1 came over a lane"),
        (pack_segment(SEGMENT, ASKS, OFFSET_SIZE, 0, 1 << 20, 0), "262144 are allowed"),
        (pack_segment(SEGMENT, ASKS, OFFSET_SIZE, 0, 10, 0), "which lacks less"),
        (bytes(28), "a frame of kind 0 came over a lane"),
    ],
)
def test_garbage_on_a_lane_is_refused(data: bytes, words: str) -> None:
    sides = Sides(lanes=1)
    sides.send(5)
    sides.first()
    sides.lanes[0].flying.append(data)
    with pytest.raises(BadFrame, match=words):
        sides.lanes[0].read()


def test_nobody_reads_more_of_a_lane_than_was_written() -> None:
    with pytest.raises(BadFrame, match="byte 1 came of 0 that were written to a lane"):
        Sides(lanes=1).lanes[0].sender.lost(1)


@given(st.binary(min_size=28, max_size=200))
def test_random_bytes_on_a_lane_are_read_or_refused(data: bytes) -> None:
    sides = Sides(lanes=1)
    sides.lanes[0].flying.append(data)
    with suppress(BadFrame):
        sides.lanes[0].read()


def segment(size: int, offset: int) -> bytes:
    return pack_segment(SEGMENT, ASKS, OFFSET_SIZE, 0, size, offset)


def test_bytes_that_are_coming_in_over_one_lane_cannot_come_over_another_one() -> None:
    sides = Sides(lanes=2)
    sides.target.feed(pack(MESSAGE, 0, 1, 0, MIB) + b"0")
    one, other = sides.lanes
    one.flying.append(segment(9000, 0) + bytes(10))
    one.read()
    other.flying.append(segment(1000, 8999))
    with pytest.raises(BadFrame, match="of the bytes from 8999 to 9999 of a payload some came"):
        other.read()
    with pytest.raises(BadFrame, match="some came twice"):
        sides.target.feed(segment(1, 0))


def test_what_did_not_come_over_a_lane_that_is_left_may_come_over_another_one() -> None:
    sides = Sides(lanes=2)
    sides.target.feed(pack(MESSAGE, 0, 1, 0, MIB) + b"0")
    one, other = sides.lanes
    one.flying.append(segment(9000, 0) + bytes(10))
    one.read()
    assert one.receiver.leave() == 38
    other.flying.append(segment(8990, 10))
    other.read()
    assert sides.ear.kept[0].ranges == [0, 9000]
