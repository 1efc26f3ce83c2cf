"""What of the output of replicas is shown."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.rank_name import RankName as rank
from runtime.replicas.lines import MARK, MOST_BEHIND, MOST_KEPT, ReplicaLines

RANKS = {rank(0, at, number): number for at in range(3) for number in range(2)}


@given(st.data())
def test_each_line_is_shown_once_whoever_dies_and_wherever_blocks_are_cut(
    data: st.DataObject,
) -> None:
    stream = data.draw(st.sampled_from(["stdout", "stderr"]))
    output = data.draw(st.binary(max_size=60).map(lambda raw: raw.replace(b"\0", b"\n")))
    lines = ReplicaLines(RANKS)
    positions = {rank(0, 0, 0): 0, rank(0, 1, 0): 0, rank(0, 2, 0): 0}
    survivor = data.draw(st.sampled_from(sorted(positions)))
    shown = b""
    while positions[survivor] < len(output):
        behind = sorted(name for name, at in positions.items() if at < len(output))
        process = data.draw(st.sampled_from(behind))
        at = positions[process]
        end = data.draw(st.integers(at + 1, len(output)))
        positions[process] = end
        name, block = lines.written(process, stream, output[at:end])
        assert name == rank(0, 0, 0)
        assert block.endswith(b"\n") or not block
        shown += block
    shown += b"".join(block for _, _, block in lines.finish())
    assert shown == output


def test_ranks_and_streams_are_apart() -> None:
    lines = ReplicaLines(RANKS)
    assert lines.written(rank(0, 0, 0), "stdout", b"a\n") == (rank(0, 0, 0), b"a\n")
    assert lines.written(rank(0, 1, 1), "stdout", b"a\n") == (rank(0, 0, 1), b"a\n")
    assert lines.written(rank(0, 1, 0), "stderr", b"a\n") == (rank(0, 0, 0), b"a\n")
    assert lines.written(rank(0, 1, 0), "stdout", b"a\n") == (rank(0, 0, 0), b"")


@pytest.mark.parametrize(
    ("stream", "half"), [("stdout", b"tw"), ("stdout", b"2, but not al"), ("stderr", b"tw")]
)
def test_half_a_line_of_a_replica_that_died_is_not_shown(stream: str, half: bytes) -> None:
    lines = ReplicaLines(RANKS)
    assert lines.written(rank(0, 0, 0), stream, b"one\n" + half) == (
        rank(0, 0, 0),
        b"one\n",
    )
    assert lines.written(rank(0, 1, 0), stream, b"one\ntwo\nthr") == (
        rank(0, 0, 0),
        b"two\n",
    )
    assert list(lines.finish()) == [(rank(0, 0, 0), stream, b"thr")]


def test_a_warning_of_one_replica_is_shown_and_takes_no_line_of_the_others_away() -> None:
    lines = ReplicaLines(RANKS)
    said = [
        lines.written(rank(0, 0, 0), "stderr", b"a\nb\n"),
        lines.written(rank(0, 1, 0), "stderr", b"no such device\na\nb\nc\n"),
        lines.written(rank(0, 0, 0), "stderr", b"c\nb\n"),
        lines.written(rank(0, 2, 0), "stderr", b"a\nb\nc\nb\nb\n"),
    ]
    shown = [b"a\nb\n", b"no such device\nc\n", b"b\n", b"b\n"]
    assert said == [(rank(0, 0, 0), block) for block in shown]


def test_a_last_line_without_end_is_shown_after_another_replica_has_warned() -> None:
    lines = ReplicaLines(RANKS)
    assert lines.written(rank(0, 1, 0), "stderr", b"no such device\n")[1] == b"no such device\n"
    assert lines.written(rank(0, 1, 0), "stderr", b"99 %, do")[1] == b""
    assert lines.written(rank(0, 0, 0), "stderr", b"99 %, done")[1] == b""
    assert list(lines.finish()) == [(rank(0, 0, 0), "stderr", b"99 %, done")]


def test_last_lines_of_stderr_that_differ_are_all_shown() -> None:
    lines = ReplicaLines(RANKS)
    lines.written(rank(0, 0, 0), "stderr", b"done")
    lines.written(rank(0, 1, 0), "stderr", b"no space left")
    assert list(lines.finish()) == [(rank(0, 0, 0), "stderr", b"no space left\ndone")]


def test_lines_of_stderr_are_forgotten_when_all_have_written_them_or_there_are_too_many() -> None:
    lines = ReplicaLines({rank(0, 0, 0): 0, rank(0, 1, 0): 0})
    output = b"".join(b"%d\n" % number for number in range(MOST_BEHIND + 1))
    assert lines.written(rank(0, 0, 0), "stderr", output)[1] == output
    assert len(lines._behind[rank(0, 1, 0)]) == MOST_BEHIND
    assert lines.written(rank(0, 1, 0), "stderr", output)[1] == b"0\n"
    assert not lines._behind[rank(0, 1, 0)]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_line_without_end_is_shown_in_pieces_and_takes_little_memory(stream: str) -> None:
    lines = ReplicaLines({rank(0, 0, 0): 0, rank(0, 1, 0): 0})
    output, shown = random.Random(1).randbytes(10 * MOST_KEPT).replace(b"\n", b""), b""
    for process, step in ((rank(0, 0, 0), 1000), (rank(0, 1, 0), 77_777)):
        for start in range(0, len(output), step):
            shown += lines.written(process, stream, output[start : start + step])[1]
            assert len(lines._begun[process, stream]) < MOST_KEPT
    assert shown + b"".join(last for *_, last in lines.finish()) == output


def test_a_line_that_comes_in_many_pieces_is_shown_when_it_is_complete() -> None:
    lines = ReplicaLines({rank(0, 0, 0): 0, rank(0, 1, 0): 0})
    for _ in range(1000):
        assert lines.written(rank(0, 1, 0), "stdout", b"12345678") == (rank(0, 0, 0), b"")
    assert lines.written(rank(0, 1, 0), "stdout", b"\nrest") == (
        rank(0, 0, 0),
        b"12345678" * 1000 + b"\n",
    )
    assert list(lines.finish()) == [(rank(0, 0, 0), "stdout", b"rest")]


def test_a_replica_that_was_started_again_goes_on_at_the_line_it_says() -> None:
    lines = ReplicaLines({rank(0, 0, 0): 0, rank(0, 1, 0): 0})
    assert lines.written(rank(0, 0, 0), "stdout", b"1\n2\nha")[1] == b"1\n2\n"
    assert lines.written(rank(0, 1, 0), "stdout", b"1\n2\n3\n4")[1] == b"3\n"
    assert lines.written(rank(0, 0, 0), "stdout", MARK + b"3\n4")[1] == b""
    assert lines.written(rank(0, 0, 0), "stdout", b"\n5\n")[1] == b"4\n5\n"
    assert lines.written(rank(0, 1, 0), "stdout", b"\n5\n6\n")[1] == b"6\n"
    assert not list(lines.finish())


def test_a_replica_that_is_started_again_may_write_what_others_wrote_before() -> None:
    lines = ReplicaLines(RANKS)
    lines.written(rank(0, 1, 0), "stderr", b"slow disk\n")  # the first replica is dead
    lines.written(rank(0, 0, 0), "stdout", MARK + b"7\n")
    assert lines.written(rank(0, 0, 0), "stderr", b"slow disk\n")[1] == b"slow disk\n"
