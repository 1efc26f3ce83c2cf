"""Whatever a peer sends to a rank: the receiver takes or refuses it, and no memory for words.

Only members of the run get that far; a broken one must still not do more than end its connection.
"""

from __future__ import annotations

import mmap
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.wire.errors import BadFrame
from runtime.wire.stream.frames import (
    ASKS,
    BYE,
    BYE_TOO,
    INLINE,
    MATCHED,
    MESSAGE,
    MOST_BYTES,
    OFFSET_SIZE,
    SEGMENT,
    TAKEN,
    pack,
    pack_segment,
)
from runtime.wire.stream.messages import Incoming
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.sender import MessageSender

if TYPE_CHECKING:
    from tests.fuzz.conftest import Break, Cut

ROUNDS = settings(max_examples=300)


def nothing() -> None:
    """Be kicked."""


class Ear:
    """Takes every second message at once, and the others when it is asked to."""

    def __init__(self) -> None:
        self.kept: list[Incoming] = []
        self.heads: list[bytes] = []
        self.payloads: list[bytes] = []

    def arrived(self, incoming: Incoming) -> None:
        self.heads.append(incoming.head)
        if len(self.heads) % 2:
            incoming.take()
            self.completed(incoming)
        else:
            self.kept.append(incoming)

    def completed(self, incoming: Incoming) -> None:
        if incoming.done:
            self.payloads.append(bytes(incoming.payload or b""))

    def lost(self, peer: int, why: Exception) -> None:
        raise AssertionError("machines lose nobody")


def fed(pieces: list[bytes]) -> tuple[list[bytes], str]:
    """Return the heads that an receiver made of pieces, and why it refused the rest."""
    ear, sender = Ear(), MessageSender()
    sender.put(b"asked", [memoryview(b"payload")], True)
    receiver = MessageReceiver(7, ear, sender, kick=nothing, goodbye=nothing)
    try:
        for piece in pieces:
            receiver.feed(piece)
        for incoming in ear.kept:
            incoming.take()
    except BadFrame as refused:
        return ear.heads, str(refused)
    return ear.heads, ""


VALID = b"".join(
    [
        pack(MESSAGE, INLINE, 4, 0, 5) + b"headhello",
        pack(MESSAGE, 0, 4, 1, 300) + b"head",
        pack_segment(SEGMENT, 0, OFFSET_SIZE, 1, 100, 0) + bytes(100),
        pack(MESSAGE, INLINE | ASKS, 0, 2, 1) + b"x",
        pack(TAKEN, 0, 0, 0, 0),
        pack(MATCHED, 0, 0, 0, 0),
        pack_segment(SEGMENT, ASKS, OFFSET_SIZE, 1, 200, 100) + bytes(200),
        pack(MESSAGE, INLINE, 2, 3, 0) + b"no",
        pack(BYE, 0, 0, 0, 0),
        pack(BYE_TOO, 0, 0, 0, 0),
    ]
)
LARGE = (0xFF, 0xFFFF, 0xFFFFFFFF, 1 << 34, MOST_BYTES, MOST_BYTES + 1, (1 << 64) - 1)


def test_the_conversation_that_is_broken_was_right_before() -> None:
    assert fed([VALID]) == ([b"head", b"head", b"", b"no"], "")


@ROUNDS
@given(data=st.binary(max_size=400), seed=st.integers(0))
def test_random_bytes_are_refused_or_awaited(data: bytes, seed: int, cut: Cut) -> None:
    whole, in_pieces = fed([data]), fed(cut(data, seed))
    assert bool(whole[1]) == bool(in_pieces[1])


@ROUNDS
@given(seed=st.integers(0), cuts=st.integers(0))
def test_broken_conversations_are_taken_or_refused_however_they_are_cut(
    seed: int, cuts: int, broken: Break, cut: Cut
) -> None:
    data = broken(VALID, seed)
    whole, in_pieces = fed([data]), fed(cut(data, cuts))
    assert bool(whole[1]) == bool(in_pieces[1])
    assert whole[0] == in_pieces[0]


def test_a_conversation_that_is_cut_off_anywhere_is_awaited() -> None:
    for length in range(len(VALID)):
        assert fed([VALID[:length]])[1] == ""


def test_any_byte_that_is_turned_is_taken_or_refused() -> None:
    for place in range(len(VALID)):
        for flip in (0x01, 0x80, 0xFF):
            data = bytearray(VALID)
            data[place] ^= flip
            fed([bytes(data)])


def accidents() -> Iterator[bytes]:
    """Yield conversations in which something is announced to be enormous."""
    for place in range(200):
        for large in LARGE:
            yield VALID[:place] + large.to_bytes(8, "little") + VALID[place + 8 :]


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_no_memory_is_taken_for_what_is_announced() -> None:
    tracemalloc.start()
    before = resident()
    try:
        for data in accidents():
            tracemalloc.reset_peak()
            begin = tracemalloc.get_traced_memory()[0]
            fed([data])
            assert tracemalloc.get_traced_memory()[1] - begin < 4 << 20
    finally:
        tracemalloc.stop()
    assert resident() - before < 64 << 20


def test_a_payload_that_is_announced_takes_no_memory_until_it_comes() -> None:
    before = resident()
    ear = Ear()
    receiver = MessageReceiver(7, ear, MessageSender(), kick=nothing, goodbye=nothing)
    receiver.feed(pack(MESSAGE, 0, 0, 0, 1 << 30))
    receiver.feed(pack_segment(SEGMENT, 0, OFFSET_SIZE, 0, 1000, 0) + bytes(1000))
    assert ear.heads == [b""]
    assert resident() - before < 16 << 20
