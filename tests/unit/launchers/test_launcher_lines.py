from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from runtime.launchers import ranks
from runtime.launchers.base import Stream
from runtime.launchers.lines import LONGEST_LINE, TAIL_WIDTH, Collected, Lines, LineSplitter, Tail
from runtime.launchers.rank_lines import RankLines

Said = list[tuple[int | None, Stream, str]]


@given(st.text(st.sampled_from("ab\n\r é")), st.lists(st.integers(0, 30)))
def test_lines_do_not_depend_on_how_the_bytes_arrive(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    splitter = LineSplitter()
    got = [
        line for start, end in itertools.pairwise(places) for line in splitter.feed(data[start:end])
    ]
    got += splitter.finish()
    expected = text.split("\n")
    if expected[-1] == "":
        expected.pop()
    assert got == [line.removesuffix("\r") for line in expected]


def test_an_endless_line_is_handed_on_in_pieces() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"x" * (LONGEST_LINE - 1)) == []
    assert splitter.feed(b"yz") == ["x" * (LONGEST_LINE - 1) + "y"]
    assert splitter.finish() == ["z"]
    assert splitter.finish() == []


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert LineSplitter().feed(b"a\xffb\n") == ["a\N{REPLACEMENT CHARACTER}b"]


def test_a_tail_keeps_the_last_lines_at_a_bearable_width() -> None:
    tail = Tail(2)
    tail.feed(b"one\ntwo\nthr")
    assert tail.lines == ("one", "two")
    tail.feed(b"ee\n" + b"x" * TAIL_WIDTH + b"\n" + b"y" * (TAIL_WIDTH + 1))
    assert tail.lines == ("three", "x" * TAIL_WIDTH)
    tail.finish()
    assert tail.lines == ("x" * TAIL_WIDTH, "y" * TAIL_WIDTH + "...")


def test_streams_are_cut_into_lines_apart() -> None:
    said: list[tuple[Stream, str]] = []
    lines = Lines(lambda stream, line: said.append((stream, line)))
    lines.received(Stream.OUTPUT, b"o1")
    lines.received(Stream.ERROR, b"e1\n")
    lines.received(Stream.OUTPUT, b" more\n")
    lines.finished()
    assert said == [(Stream.ERROR, "e1"), (Stream.OUTPUT, "o1 more")]


def test_collected_output_keeps_the_streams_apart() -> None:
    sink = Collected()
    sink.received(Stream.OUTPUT, "é".encode()[:1])
    sink.received(Stream.ERROR, b"e")
    sink.received(Stream.OUTPUT, "é".encode()[1:])
    assert (sink.output, sink.error) == ("é", "e")


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from("oe"), st.text(st.sampled_from("a \x1e[1,0"))),
        max_size=8,
    ),
    st.booleans(),
)
def test_records_of_all_ranks_come_out_as_their_lines(
    lines: list[tuple[int, str, str]], open_mpi: bool
) -> None:
    said: Said = []
    sink = RankLines(lambda rank, stream, line: said.append((rank, stream, line)))
    for rank, letter, text in lines:
        head = ranks.RECORD + f"{rank} {letter}".encode()
        for record in ranks.records(head, text.encode()):
            tag = f"[1,{rank}]<stderr>: ".encode() if open_mpi else b""
            sink.received(Stream.ERROR, tag + record)
    sink.finished()
    streams = {"o": Stream.OUTPUT, "e": Stream.ERROR}
    assert said == [(rank, streams[letter], text) for rank, letter, text in lines]


def test_a_long_line_travels_in_records_no_longer_than_a_pipe_takes_at_once() -> None:
    head = ranks.RECORD + b"12345 o"
    text = b"x" * (2 * ranks.ROOM + 1)
    pieces = ranks.records(head, text)
    assert [len(piece) <= ranks.ATOMIC for piece in pieces] == [True] * 3
    said: Said = []
    sink = RankLines(lambda rank, stream, line: said.append((rank, stream, line)))
    for piece in pieces:
        sink.received(Stream.ERROR, piece)
    assert said == [(12345, Stream.OUTPUT, text.decode())]
    assert ranks.records(head, b"x" * ranks.ROOM) == [head + b". " + b"x" * ranks.ROOM + b"\n"]


def test_a_line_that_never_ended_is_said_at_the_end() -> None:
    said: Said = []
    sink = RankLines(lambda rank, stream, line: said.append((rank, stream, line)))
    sink.received(Stream.ERROR, b"\x1e3 o+ half\n\x1e4 o. whole\n")
    assert said == [(4, Stream.OUTPUT, "whole")]
    sink.finished()
    assert said[1:] == [(3, Stream.OUTPUT, "half")]


def test_what_is_no_record_is_said_by_mpiexec_or_by_the_rank_open_mpi_names() -> None:
    said: Said = []
    sink = RankLines(lambda rank, stream, line: said.append((rank, stream, line)))
    sink.received(Stream.ERROR, b"mpiexec: no\n[1,3]<stderr>: oh\n[1,2]<stdout>: \n")
    assert said == [(None, Stream.ERROR, "mpiexec: no"), (3, Stream.ERROR, "oh")]
