from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from runtime.launchers import ranks
from runtime.launchers.base import OutputStream
from runtime.launchers.lines import (
    LONGEST_LINE,
    TAIL_LINES,
    TAIL_WIDTH,
    BlockCutter,
    Collected,
    Lines,
    Tail,
)
from runtime.launchers.rank_lines import RankLines
from runtime.native_mpi import OPEN_MPI

Said = list[tuple[int | None, OutputStream, bytes]]


@given(st.text(st.sampled_from("ab\n\r é")), st.lists(st.integers(0, 30)))
def test_lines_do_not_depend_on_how_the_bytes_arrive(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    got: list[str] = []
    sink = Lines(lambda _stream, line: got.append(line))
    for start, end in itertools.pairwise(places):
        sink.received(OutputStream.OUTPUT, data[start:end])
    sink.finished()
    expected = text.split("\n")
    if expected[-1] == "":
        expected.pop()
    assert got == [line.removesuffix("\r") for line in expected]


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    got: list[str] = []
    Lines(lambda _stream, line: got.append(line)).received(OutputStream.OUTPUT, b"a\xffb\n")
    assert got == ["a\N{REPLACEMENT CHARACTER}b"]


def test_a_tail_keeps_the_last_lines_at_a_bearable_width() -> None:
    tail = Tail(2)
    tail.feed(b"one\ntwo\nthr")
    assert tail.lines == ("one", "two")
    tail.feed(b"ee\n" + b"x" * TAIL_WIDTH + b"\n" + b"y" * (TAIL_WIDTH + 1))
    assert tail.lines == ("three", "x" * TAIL_WIDTH)
    tail.finish()
    assert tail.lines == ("x" * TAIL_WIDTH, "y" * TAIL_WIDTH + "...")


def test_streams_are_cut_into_lines_apart() -> None:
    said: list[tuple[OutputStream, str]] = []
    lines = Lines(lambda stream, line: said.append((stream, line)))
    lines.received(OutputStream.OUTPUT, b"o1")
    lines.received(OutputStream.ERROR, b"e1\n")
    lines.received(OutputStream.OUTPUT, b" more\n")
    lines.finished()
    assert said == [(OutputStream.ERROR, "e1"), (OutputStream.OUTPUT, "o1 more")]


def test_collected_output_keeps_the_streams_apart() -> None:
    sink = Collected()
    sink.received(OutputStream.OUTPUT, "é".encode()[:1])
    sink.received(OutputStream.ERROR, b"e")
    sink.received(OutputStream.OUTPUT, "é".encode()[1:])
    assert (sink.output, sink.error) == ("é", "e")


@given(st.lists(st.binary(max_size=8).map(lambda data: data.replace(b"a", b"\n"))))
def test_blocks_are_whole_lines_and_all_that_came(pieces: list[bytes]) -> None:
    cutter = BlockCutter()
    blocks = [cutter.feed(piece) for piece in pieces]
    assert all(block.endswith(b"\n") for block in blocks if block)
    rest = cutter.finish()
    assert b"\n" not in rest
    assert b"".join(blocks) + rest == b"".join(pieces)
    assert cutter.finish() == b""


def test_a_line_is_cut_off_as_soon_as_it_is_complete() -> None:
    cutter = BlockCutter()
    assert cutter.feed(b"one\ntwo\nthr") == b"one\ntwo\n"
    assert cutter.feed(b"ee") == b""
    assert cutter.feed(b"\n") == b"three\n"


def test_an_endless_line_is_handed_on_in_pieces_that_make_it_up_again() -> None:
    cutter = BlockCutter()
    assert cutter.feed(b"x" * (LONGEST_LINE - 1)) == b""
    assert cutter.feed(b"yz") == b"x" * (LONGEST_LINE - 1) + b"yz"
    assert cutter.feed(b"end\n") == b"end\n"


def test_the_last_lines_of_many_blocks_are_kept_as_text() -> None:
    last = Tail()
    for number in range(10_000):
        last.feed(f"line {number}\n\n".encode())
    last.feed(b"\xff\n")
    expected = [*(f"line {number}" for number in range(10_001 - TAIL_LINES, 10_000)), "\ufffd"]
    assert list(last.lines) == expected


PIECES = [b"a", b" ", b"\n", b"\r", b"\x1e", b"\x10", b"n", b"p", b"\xff", b"[1,1]<stdout>: "]


class Heard:
    """What comes out of records, joined again for each rank and stream."""

    def __init__(self) -> None:
        self.said: Said = []
        self.sink = RankLines(lambda *block: self.said.append(block), tag=OPEN_MPI.tag)

    def by(self, rank: int | None, stream: OutputStream) -> bytes:
        return b"".join(data for *whom, data in self.said if whom == [rank, stream])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from("oe"),
            st.lists(st.sampled_from(PIECES)).map(b"".join),
        ),
        max_size=8,
    ),
    st.booleans(),
)  # fmt: skip
def test_records_of_all_ranks_come_out_as_they_were_written(
    written: list[tuple[int, str, bytes]], open_mpi: bool
) -> None:
    heard = Heard()
    for rank, letter, data in written:
        for record in ranks.records(ranks.RECORD + f"{rank} {letter} ".encode(), data):
            tag = f"[1,{rank}]<stderr>: ".encode() if open_mpi else b""
            heard.sink.received(OutputStream.ERROR, tag + record)
    assert all(data.endswith(b"\n") for *_, data in heard.said)
    heard.sink.finished()
    for rank in range(3):
        for letter, stream in (("o", OutputStream.OUTPUT), ("e", OutputStream.ERROR)):
            own = [data for *whom, data in written if whom == [rank, letter]]
            assert heard.by(rank, stream) == b"".join(own)
    assert heard.by(None, OutputStream.ERROR) == b""


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), min_size=1, max_size=60),
    st.sampled_from([b" a  [1,2]<stderr>:b\n", b"\n\n x", b"\x10<std]"]),
)
def test_records_come_out_whole_where_pieces_of_lines_are_tagged(
    read: list[tuple[int, int]], text: bytes
) -> None:
    """Open MPI 4 tags each piece that it has read, and behind each newline in it."""
    said = [text * (5 + rank) for rank in range(3)]
    left = [
        b"".join(ranks.records(ranks.RECORD + f"{rank} o ".encode(), data))
        for rank, data in enumerate(said)
    ]
    heard = Heard()
    for rank, length in [*read, *((rank, 10_000) for rank in range(3))]:
        piece, left[rank] = left[rank][:length], left[rank][length:]
        tag = f"[1,{rank}]<stderr>:".encode()
        for line in piece.splitlines(keepends=True) if piece else ():
            heard.sink.received(OutputStream.ERROR, tag + line)
    heard.sink.finished()
    for rank in range(3):
        assert heard.by(rank, OutputStream.OUTPUT) == said[rank]
    assert heard.by(None, OutputStream.ERROR) == b""


def test_records_are_no_longer_than_a_pipe_takes_at_once() -> None:
    head = ranks.RECORD + b"12345 o "
    for data in (b"x" * (2 * ranks.ROOM + 1), b"\n" * ranks.ATOMIC, b"x" + b"\n" * ranks.ATOMIC):
        pieces = ranks.records(head, data)
        assert max(map(len, pieces)) <= ranks.ATOMIC
        heard = Heard()
        for piece in pieces:
            heard.sink.received(OutputStream.ERROR, piece)
        heard.sink.finished()
        assert heard.by(12345, OutputStream.OUTPUT) == data
    assert ranks.records(head, b"") == []


def test_what_is_no_record_is_said_by_mpiexec_or_by_the_rank_open_mpi_names() -> None:
    heard = Heard()
    heard.sink.received(
        OutputStream.ERROR, b"mpiexec: no\n[1,3]<stderr>: oh\n[1,2]<stdout>: \nby\rme\n"
    )
    assert heard.said == [
        (None, OutputStream.ERROR, b"mpiexec: no\n"),
        (3, OutputStream.ERROR, b"oh\n"),
        (None, OutputStream.ERROR, b"by\rme\n"),
    ]
