"""Both halves of a pair, joined by nothing but bytes that are cut in any way."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.wire.errors import BadFrame, PeerLost
from runtime.wire.stream.frames import (
    BYE,
    GO,
    INLINE,
    MATCHED,
    MESSAGE,
    MOST_HEAD,
    OFFSET_SIZE,
    SEGMENT,
    WHOLE,
    pack,
    pack_segment,
)
from runtime.wire.stream.messages import Incoming, Outgoing
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.sender import MessageSender

KIB = 1 << 10
MIB = 1 << 20


def nothing() -> None:
    """Be kicked."""


@dataclass
class Ear:
    """A receiver that matches at once, if it does."""

    matches: bool = True
    heads: list[bytes] = field(default_factory=list)
    kept: list[Incoming] = field(default_factory=list)
    complete: list[Incoming] = field(default_factory=list)

    def arrived(self, incoming: Incoming) -> None:
        self.heads.append(incoming.head)
        self.kept.append(incoming)
        if self.matches:
            incoming.give(memoryview(bytearray(incoming.size)))
            if incoming.done:
                self.complete.append(incoming)

    def completed(self, incoming: Incoming) -> None:
        self.complete.append(incoming)

    def lost(self, peer: int, why: Exception) -> None:
        raise AssertionError("machines lose nobody")

    def payload_of(self, head: bytes) -> bytes:
        (found,) = [one for one in self.complete if one.head == head]
        assert found.payload is not None
        return bytes(found.payload)


class Side:
    """One end of a pair."""

    def __init__(self, ear: Ear | None = None) -> None:
        self.ear = ear or Ear()
        self.sender = MessageSender()
        self.receiver = MessageReceiver(7, self.ear, self.sender, kick=nothing, goodbye=nothing)

    def send(self, head: bytes, *parts: bytes, sync: bool = False) -> Outgoing:
        return self.sender.put(head, [memoryview(part) for part in parts], sync)

    def write(self, most: int = 1 << 40) -> bytes:
        data = b"".join(self.sender.batch())[:most]
        if data:
            self.sender.wrote(len(data))
        return data

    def write_all(self) -> bytes:
        return b"".join(iter(self.write, b""))


def is_done(outgoing: Outgoing) -> bool:
    """Ask afresh: the type checker believes that what was false stays so."""
    return outgoing.done


def carry(source: Side, target: Side) -> None:
    """Move everything that either end has to say."""
    while not (source.sender.is_idle and target.sender.is_idle):
        target.receiver.feed(source.write_all())
        source.receiver.feed(target.write_all())


def pattern(size: int, seed: int = 1) -> bytes:
    return (bytes(range(seed, 256)) * (size // (256 - seed) + 1))[:size]


def chopped(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


SIZES = st.one_of(
    st.integers(0, 40), st.sampled_from([2048, 2049, 8 * KIB, 8 * KIB + 1, 256 * KIB + 1, MIB])
)


@given(st.lists(SIZES, max_size=6), st.lists(st.integers(0, 1 << 22), max_size=30), st.booleans())
def test_every_payload_arrives_whole_however_the_stream_is_cut(
    sizes: list[int], cuts: list[int], matches: bool
) -> None:
    a, b = Side(), Side(Ear(matches))
    heads = [b"message %d" % number for number in range(len(sizes))]
    for number, (head, size) in enumerate(zip(heads, sizes, strict=True)):
        a.send(head, pattern(size, number + 1))
    for piece in chopped(a.write_all(), cuts):
        b.receiver.feed(piece)
    if not matches:
        for one in b.ear.kept:
            one.take()
            b.ear.complete.append(one)
    assert b.ear.heads == heads
    assert all(one.done for one in b.ear.kept)
    for number, (head, size) in enumerate(zip(heads, sizes, strict=True)):
        assert b.ear.payload_of(head) == pattern(size, number + 1)


@given(st.integers(0, 256 * KIB), st.lists(st.integers(0, 1 << 20), max_size=8), st.booleans())
def test_what_passes_by_arrives_whole_and_in_order(
    size: int, cuts: list[int], matches: bool
) -> None:
    a, b = Side(), Side(Ear(matches))
    data = pattern(size)
    sent = b""
    for head in (b"first", b"then"):
        passing = a.sender.pass_by(head, [memoryview(data)])
        assert passing is not None
        sent += b"".join(passing)
    for piece in chopped(sent, cuts):
        b.receiver.feed(piece)
    if not matches:
        for one in b.ear.kept:
            one.take()
            b.ear.complete.append(one)
    assert b.ear.heads == [b"first", b"then"]
    assert b.ear.payload_of(b"first") == b.ear.payload_of(b"then") == data


def test_what_was_written_in_part_is_written_before_all_else() -> None:
    a, b = Side(), Side()
    passing = a.sender.pass_by(b"begun", [memoryview(pattern(100 * KIB))])
    assert passing is not None
    outgoing = a.sender.put_back(passing, 5000)
    a.send(b"next", b"small")
    a.sender.put_frame(BYE)
    assert not is_done(outgoing)
    b.receiver.feed(b"".join(passing)[:5000] + a.write_all())
    assert is_done(outgoing)
    assert b.ear.heads == [b"begun", b"next"]
    assert b.ear.payload_of(b"begun") == pattern(100 * KIB)


def test_nothing_passes_by_what_waits_or_is_large_or_beyond_the_window() -> None:
    a = Side()
    assert a.sender.pass_by(b"", [memoryview(bytes(256 * KIB + 1))]) is None
    assert a.sender.pass_by(bytes(MOST_HEAD + 1), []) is None
    assert a.sender.pass_by(b"", [memoryview(b"x")] * 17) is None
    a.send(b"waits")
    assert a.sender.pass_by(b"", []) is None
    a.write_all()
    assert a.sender.pass_by(b"", []) is not None
    for _ in range(31):
        assert a.sender.pass_by(b"", [memoryview(bytes(256 * KIB))]) is not None
    assert a.sender.pass_by(b"", [memoryview(bytes(256 * KIB))]) is None


@given(st.lists(st.integers(1, 700 * KIB), min_size=1, max_size=60))
def test_any_partial_write_continues_where_it_stopped(steps: list[int]) -> None:
    a, b = Side(), Side()
    sent = [a.send(b"x", pattern(900 * KIB)), a.send(b"y", pattern(5000, 2)), a.send(b"z", b"end")]
    for step in steps:
        b.receiver.feed(a.write(step))
    b.receiver.feed(a.write_all())
    assert [one.done for one in sent] == [True] * 3
    assert b.ear.payload_of(b"x") == pattern(900 * KIB)
    assert b.ear.payload_of(b"y") == pattern(5000, 2)
    assert b.ear.payload_of(b"z") == b"end"


@pytest.mark.parametrize("late", [0, 100, 300 * KIB, 700 * KIB])
def test_a_buffer_given_in_the_middle_gets_what_came_before(late: int) -> None:
    a, b = Side(), Side(Ear(matches=False))
    a.send(b"large", pattern(600 * KIB))
    data = a.write_all()
    b.receiver.feed(data[: 100 + late])
    (incoming,) = b.ear.kept
    buffer = bytearray(600 * KIB)
    incoming.give(memoryview(buffer))
    assert incoming.done == (late == 700 * KIB)
    b.receiver.feed(data[100 + late :])
    assert incoming.done
    assert b.ear.complete == ([] if late == 700 * KIB else [incoming])
    assert buffer == pattern(600 * KIB)


def test_a_payload_of_several_parts_arrives_as_one() -> None:
    a, b = Side(), Side()
    a.send(b"few", b"ab", b"", b"cd")
    a.send(b"many", *(b"%03d" % n for n in range(1000)))
    a.send(b"large", pattern(200 * KIB), b"", pattern(200 * KIB, 2))
    carry(a, b)
    assert b.ear.payload_of(b"few") == b"abcd"
    assert b.ear.payload_of(b"many") == b"".join(b"%03d" % n for n in range(1000))
    assert b.ear.payload_of(b"large") == pattern(200 * KIB) + pattern(200 * KIB, 2)


def test_a_sender_names_the_messages_that_have_not_begun_to_go() -> None:
    sender = MessageSender()
    sender.put(b"gone", [memoryview(b"payload")])
    sender.wrote(sum(map(len, sender.batch())))
    sender.put(b"small", [memoryview(b"payload")])
    sender.put(b"large", [memoryview(bytes(MIB))])
    sender.put(b"asks", [memoryview(b"payload")], sync=True)
    sender.put_frame(BYE)
    assert list(sender.unsent()) == [(b"small", 7), (b"large", MIB), (b"asks", 7)]


def test_a_small_message_overtakes_a_large_one() -> None:
    a, b = Side(), Side()
    a.send(b"large", bytes(4 * MIB))
    first = a.write()
    a.send(b"small", b"quick")
    second = a.write()
    assert len(first) + len(second) < MIB + 64 * KIB
    b.receiver.feed(first + second)
    assert [one.head for one in b.ear.complete] == [b"small"]
    carry(a, b)
    assert [one.head for one in b.ear.complete] == [b"small", b"large"]


def test_large_payloads_take_turns() -> None:
    a, b = Side(), Side()
    a.send(b"first", bytes(3 * MIB))
    a.send(b"second", bytes(3 * MIB))
    b.receiver.feed(a.write() + a.write())
    first, second = b.ear.kept
    assert first.came == second.came == 512 * KIB


def test_small_payloads_are_done_at_once_and_middle_ones_when_they_are_written() -> None:
    a = Side()
    assert a.send(b"", bytes(2048)).done
    middle = a.send(b"", bytes(2049))
    assert not is_done(middle)
    a.write_all()
    assert is_done(middle)


def test_a_synchronous_message_is_done_once_it_is_matched() -> None:
    for size in (0, 10, 100 * KIB):
        a, b = Side(), Side(Ear(matches=False))
        outgoing = a.send(b"sync", bytes(size), sync=True)
        carry(a, b)
        assert not is_done(outgoing)
        assert not a.sender.is_finished
        b.ear.kept[0].take()
        carry(a, b)
        assert is_done(outgoing)
        assert a.sender.is_finished


def test_an_unread_sender_keeps_what_is_beyond_the_window() -> None:
    a, b = Side(), Side(Ear(matches=False))
    sent = [a.send(b"%d" % number, bytes(MIB)) for number in range(20)]
    carry(a, b)
    assert sum(one.came for one in b.ear.kept) <= 8 * MIB
    assert sum(one.done for one in sent) == 7
    assert len(b.ear.kept) == 20
    for one in reversed(b.ear.kept):
        one.take()
        carry(a, b)
        assert one.done
    assert all(one.done for one in sent)
    assert a.sender.is_finished


def test_a_late_message_is_matched_while_earlier_ones_fill_the_window() -> None:
    a, b = Side(), Side(Ear(matches=False))
    for number in range(3000):
        a.send(b"%d" % number, bytes(8 * KIB))
    last = a.send(b"last", b"important")
    carry(a, b)
    assert not is_done(last)
    assert b.ear.kept[-1].head == b"last"
    b.ear.kept[-1].take()
    carry(a, b)
    assert is_done(last)
    assert b.ear.payload_of(b"last") == b"important"


def test_many_messages_that_are_matched_never_fill_the_window() -> None:
    a, b = Side(), Side()
    for number in range(200):
        a.send(b"%d" % number, bytes(MIB // 2))
        carry(a, b)
    assert len(b.ear.complete) == 200
    assert a.sender.is_finished


def test_one_message_beyond_the_window_goes_on_once_it_is_matched() -> None:
    a, b = Side(), Side(Ear(matches=False))
    data = pattern(20 * MIB)
    outgoing = a.send(b"huge", data)
    carry(a, b)
    assert b.ear.kept[0].came == 8 * MIB
    assert not is_done(outgoing)
    buffer = bytearray(20 * MIB)
    b.ear.kept[0].give(memoryview(buffer))
    carry(a, b)
    assert is_done(outgoing)
    assert buffer == data


def test_what_is_lost_fails_with_the_reason() -> None:
    a = Side()
    sent = [a.send(b"", bytes(size)) for size in (3000, MIB, 20 * MIB)]
    sent.append(a.send(b"", b"", sync=True))
    a.write()
    waiting = [one for one in sent if not one.done]
    why = PeerLost("gone")
    a.sender.fail(why)
    assert waiting
    assert all(one.done and one.error is why for one in waiting)
    assert a.sender.is_finished


def test_a_message_is_matched_once_and_into_a_buffer_of_its_size() -> None:
    a, b = Side(), Side(Ear(matches=False))
    a.send(b"", b"four")
    carry(a, b)
    with pytest.raises(ValueError, match="the buffer has 5 bytes, the payload 4"):
        b.ear.kept[0].give(memoryview(bytearray(5)))
    b.ear.kept[0].take()
    with pytest.raises(ValueError, match="has been matched before"):
        b.ear.kept[0].take()


def test_a_taken_small_payload_stays_when_others_follow() -> None:
    class Taker(Ear):
        def arrived(self, incoming: Incoming) -> None:
            incoming.take()
            self.complete.append(incoming)

    a, b = Side(), Side(Taker())
    a.send(b"1", b"first")
    a.send(b"2", b"again")
    b.receiver.feed(a.write_all())
    a.send(b"3", b"third")
    b.receiver.feed(a.write_all())
    payloads = [one.payload for one in b.ear.complete]
    assert [bytes(one) for one in payloads if one is not None] == [b"first", b"again", b"third"]


def test_a_head_or_payload_beyond_the_limits_is_refused() -> None:
    a = Side()
    with pytest.raises(BadFrame, match="a head of 4097"):
        a.send(bytes(MOST_HEAD + 1))
    assert a.sender.is_idle


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n", "there is no kind 71"),
        (bytes(20), "there is no kind 0"),
        (pack(MESSAGE, INLINE, MOST_HEAD + 1, 0, 0), "4096 are allowed"),
        (pack(MESSAGE, INLINE, 0, 0, 257 * KIB), "262144 are allowed"),
        (pack(MESSAGE, 0, 0, 0, 2 << 40), "are allowed"),
        (pack(MESSAGE, 0, 0, 0, 0), "without a payload"),
        (pack(MESSAGE, INLINE, 0, 5, 0), "message 5 came where 0 was awaited"),
        (pack_segment(SEGMENT, 0, OFFSET_SIZE, 3, 10, 0), "10 bytes came for message 3"),
        (pack_segment(SEGMENT, 0, OFFSET_SIZE, 3, 0, 0), "a segment has no bytes"),
        (pack_segment(SEGMENT, 0, 0, 3, 10, 0), "does not tell which ones it has"),
        (
            pack(MESSAGE, 0, 0, 0, 300) + pack_segment(SEGMENT, 0, OFFSET_SIZE, 0, 100, 201),
            "100 bytes came for message 0, which lacks less",
        ),
        (pack(WHOLE, 0, 0, 3, 0), "message 3 is said to be whole"),
        (pack(MATCHED, 0, 0, 3, 0), "message 3 was matched, which did not ask"),
        (pack(GO, 0, 0, 0, 0), "kind 5 came where none can be"),
    ],
)
def test_garbage_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(BadFrame, match=words):
        Side().receiver.feed(data)


@given(st.binary(min_size=20, max_size=300))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    side = Side()
    with suppress(BadFrame):
        side.receiver.feed(data)


def test_goodbye_is_heard() -> None:
    a, b = Side(), Side()
    a.send(b"last", b"words")
    data = a.write_all()
    a.sender.put_frame(BYE)
    b.receiver.feed(data + a.write_all())
    assert b.ear.payload_of(b"last") == b"words"
    assert b.receiver.has_left
    assert not b.receiver.may_go
