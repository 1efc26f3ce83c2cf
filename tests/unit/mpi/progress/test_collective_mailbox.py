"""The mailbox of collectives: brief messages, words, and what cannot be in step."""

from __future__ import annotations

import struct

from runtime.mpi.collectives.mismatches import brief_tag_of
from runtime.mpi.progress.collective_mailbox import BRIEF, LITTLE, CollectiveBox
from runtime.wire.stream.messages import Incoming

FIRST, SECOND = (brief_tag_of("Bcast", turn) for turn in (1, 2))


class Origin:
    """Knows what was taken of what it sent."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    def matched(self, incoming: Incoming) -> None:
        self.taken.append(incoming.number)


def message(origin: Origin, number: int, data: bytes, *, size: int | None = None) -> Incoming:
    """Return a message that is all here, or whose payload comes once it is taken."""
    lent = memoryview(data) if size is None else None
    size = len(data) if size is None else size
    return Incoming(3, b"", size, number, origin, asks=lent is None, lent=lent)


def box() -> CollectiveBox:
    return CollectiveBox("process {}".format)


def test_a_brief_message_is_taken_once_it_is_expected() -> None:
    kept, origin = box(), Origin()
    assert not kept.arrive(1, FIRST, message(origin, 0, b"one"))
    assert not kept.arrive(1, SECOND, message(origin, 1, b"two"))
    assert origin.taken == []
    kept.expect((1,), FIRST)
    assert kept.take_all((1,), FIRST) == [b"one"]
    assert origin.taken == [0]
    kept.let_go((1,), FIRST)
    assert kept.take_all((1,), FIRST) is None
    assert not kept.has_news


def test_one_whose_payload_waits_is_taken_and_then_whole() -> None:
    kept, origin = box(), Origin()
    coming = message(origin, 0, b"", size=4)
    kept.expect((1,), FIRST)
    assert kept.arrive(1, FIRST, coming)
    assert kept.take_all((1,), FIRST) is None
    assert origin.taken == [0]
    coming.payload, coming.done = memoryview(b"late"), True
    assert kept.is_here(1, FIRST)
    assert kept.take_all((1,), FIRST) == [b"late"]


def test_who_says_something_else_than_is_expected_is_a_stray() -> None:
    kept, origin = box(), Origin()
    kept.expect((1, 2), FIRST)
    kept.arrive(2, FIRST, message(origin, 0, b""))
    kept.arrive(2, SECOND, message(origin, 1, b""))
    assert not kept.has_news
    kept.arrive(1, SECOND, message(origin, 2, b""))
    assert kept.stray == (1, SECOND, FIRST)


def test_so_is_who_said_it_before_anything_was_expected() -> None:
    kept, origin = box(), Origin()
    kept.arrive(1, SECOND, message(origin, 0, b""))
    kept.expect((2,), FIRST)
    assert kept.stray is None
    kept.expect((1,), FIRST)
    assert kept.stray == (1, SECOND, FIRST)


def test_so_is_who_said_something_else_before_what_is_expected() -> None:
    kept, origin = box(), Origin()
    kept.arrive(1, FIRST, message(origin, 0, b""))
    kept.arrive(1, SECOND, message(origin, 1, b""))
    kept.expect((1,), FIRST)
    assert kept.stray is None  # it may be ahead
    kept.expect((1,), SECOND)
    assert kept.stray == (1, FIRST, SECOND)


def test_what_is_too_long_is_not_brief() -> None:
    kept = box()
    kept.expect((1,), FIRST)
    kept.arrive(1, FIRST, message(Origin(), 0, bytes(LITTLE + 1)))
    assert kept.take_all((1,), FIRST) is None
    assert kept.stray == (1, FIRST, FIRST)


def test_what_is_still_said_in_a_call_that_failed_is_forgotten() -> None:
    kept, origin = box(), Origin()
    kept.expect((1, 2), FIRST)
    kept.arrive(1, FIRST, message(origin, 0, b""))
    kept.fail(FIRST)
    kept.arrive(2, FIRST, message(origin, 1, b""))
    assert origin.taken == [0, 1]
    kept.expect((1, 2), SECOND)
    assert not kept.has_news
    assert kept.drain() == []


def test_words_are_heard_when_they_are_whole() -> None:
    kept, origin = box(), Origin()
    coming = message(origin, 0, b"", size=8)
    kept.arrive(1, -2, coming)
    kept.arrive(2, -3, message(origin, 1, b"there"))
    assert (kept.words(), kept.has_news) == ([(2, -3, b"there")], False)
    coming.payload, coming.done = memoryview(struct.pack("<q", 7)), True
    assert (kept.words(), kept.has_news) == ([(1, -2, struct.pack("<q", 7))], False)


def test_what_nobody_took_is_drained() -> None:
    kept, origin = box(), Origin()
    kept.arrive(1, FIRST, message(origin, 0, b"a"))
    kept.arrive(2, FIRST, message(origin, 1, b"b"))
    assert kept.take_all((1, 3), FIRST) is None
    assert [one.number for one in kept.drain()] == [1]
    assert kept.drain() == []
    assert BRIEF <= FIRST
