"""Frames: whatever the pieces in which bytes come, the same frames come out, within limits."""

from __future__ import annotations

import mmap
import random
import sys
from pathlib import Path
from types import ModuleType

import numpy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runtime.transport.errors import FrameError
from runtime.transport.frames import (
    AT_ONCE,
    HEAD,
    MARK,
    MOST_PARTS,
    STAGE,
    ZEROED,
    Frame,
    FrameReader,
)

PARTS = st.lists(st.binary(max_size=40), max_size=5)
FRAMES = st.lists(
    st.tuples(st.integers(0, 255), st.integers(0, 2**64 - 1), PARTS), min_size=1, max_size=6
)
Described = tuple[int, int, list[bytes]]


def written(frame: Frame) -> bytes:
    return frame.head() + b"".join(frame.parts)


def described(frames: list[Frame]) -> list[Described]:
    return [(f.kind, f.number, [bytes(part) for part in f.parts]) for f in frames]


@given(FRAMES, st.data())
@example([(1, 2, [])], None)
def test_frames_come_out_as_they_went_in_however_the_bytes_are_cut(
    sent: list[Described], data: st.DataObject | None
) -> None:
    stream = b"".join(written(Frame(*one)) for one in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8))) if data else []
    reader = FrameReader()
    received: list[Frame] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += reader.feed(stream[begin:end])
    assert described(received) == sent
    assert reader.is_between_frames


@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_are_refused_or_waited_for_but_never_break_the_reader(data: bytes) -> None:
    reader = FrameReader(most_bytes=1000)
    try:
        reader.feed(data)
    except FrameError:
        assert not MARK.startswith(data[:2]) or len(data) >= HEAD.size
    else:
        assert MARK.startswith(data[:2])


def test_a_large_part_is_received_where_it_stays() -> None:
    large = bytes(range(256)) * 1024
    frame = Frame(3, 4, [b"small", large])
    reader = FrameReader()
    assert reader.feed(frame.head() + b"small") == []
    space = reader.space()
    assert len(space) == len(large)
    space[:] = large
    (received,) = reader.filled(len(large))
    assert bytes(received.parts[1]) == large
    assert space.obj is received.parts[1]


def test_a_part_is_staged_as_soon_as_it_lacks_less_than_the_stage() -> None:
    reader = FrameReader()
    reader.feed(Frame(1, 1, [bytes(STAGE)]).head())
    assert len(reader.space()) == STAGE
    assert reader.filled(1) == []
    assert len(reader.space()) == STAGE
    (frame,) = reader.filled(STAGE - 1)
    assert len(frame.parts[0]) == STAGE


def test_received_parts_can_be_written_to() -> None:
    (frame,) = FrameReader().feed(written(Frame(1, 1, [b"ab"])))
    part = memoryview(frame.parts[0])
    part[0] = ord("x")
    assert bytes(frame.parts[0]) == b"xb"


def test_a_reader_tells_whether_the_stream_may_end_here() -> None:
    stream = written(Frame(1, 1, [b"abc"]))
    reader = FrameReader()
    assert reader.is_between_frames
    for byte in stream[:-1]:
        reader.feed(bytes([byte]))
        assert not reader.is_between_frames
    assert len(reader.feed(stream[-1:])) == 1
    assert reader.is_between_frames


def test_a_frame_beyond_the_limit_is_refused_before_its_parts_come() -> None:
    reader = FrameReader(most_bytes=10)
    assert len(reader.feed(written(Frame(1, 1, [bytes(4), bytes(6)])))) == 1
    with pytest.raises(FrameError, match="says it has 11 bytes; at most 10 are allowed"):
        reader.feed(Frame(1, 1, [bytes(5), bytes(6)]).head())


def resident() -> int:
    """Return how many bytes of memory this process really has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_what_is_announced_takes_no_memory_before_it_comes() -> None:
    before = resident()
    readers = [FrameReader() for _ in range(8)]
    for reader in readers:
        reader.feed(HEAD.pack(MARK, 1, 1, 1) + (1 << 30).to_bytes(8, "big") + bytes(1000))
    assert resident() - before < 9 * AT_ONCE
    assert len(readers[0].space()) == (1 << 30) - 1000


def test_a_part_for_which_there_is_no_memory_is_refused() -> None:
    with pytest.raises(FrameError, match="there is no memory for a part of"):
        FrameReader(most_bytes=1 << 63).feed(Frame(1, 1, [b"x"]).head()[:-8] + b"\x40" + bytes(7))


@pytest.mark.parametrize("piece", [STAGE - 1, 1 << 20, 1 << 30])
@pytest.mark.parametrize("size", [ZEROED + 1, AT_ONCE, AT_ONCE + 1, 2 * AT_ONCE + 70_000])
@pytest.mark.parametrize("has_numpy", [True, False])
def test_a_very_large_part_arrives_whole(
    size: int, piece: int, has_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", numpy if has_numpy else ModuleType("numpy"))
    sent = random.Random(size).randbytes(size)
    stream = written(Frame(1, 1, [b"head", sent, b"tail"]))
    reader = FrameReader()
    (frame,) = [
        frame
        for begin in range(0, len(stream), piece)
        for frame in reader.feed(stream[begin : begin + piece])
    ]
    assert frame.parts == [b"head", sent, b"tail"]
    assert not any(memoryview(part).readonly for part in frame.parts)


def test_a_frame_with_too_many_parts_is_refused_at_both_ends() -> None:
    assert len(Frame(1, 1, [b""] * MOST_PARTS).head()) == HEAD.size + 8 * MOST_PARTS
    with pytest.raises(FrameError, match="at most 4096 parts, this one 4097"):
        Frame(1, 1, [b""] * (MOST_PARTS + 1)).head()
    with pytest.raises(FrameError, match="says it has 4097 parts"):
        FrameReader().feed(HEAD.pack(MARK, 1, MOST_PARTS + 1, 1))


def test_what_does_not_begin_like_a_frame_is_refused() -> None:
    with pytest.raises(FrameError, match="not a frame"):
        FrameReader().feed(b"GET / HTTP/1.1\r\n\r\n")


def test_a_frame_knows_its_size() -> None:
    assert Frame(1, 1, [b"ab", b"", b"c"]).size == 3


def test_a_small_frame_leaves_in_one_piece_and_a_large_part_is_not_copied() -> None:
    small = Frame(1, 1, [b"where", bytearray(b"what")])
    assert small.pieces() == [written(small)]
    large = bytes(STAGE)
    pieces = Frame(1, 1, [b"where", large]).pieces()
    assert pieces[2] is large
