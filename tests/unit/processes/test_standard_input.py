"""A standard input is read when it is asked for, as far as it is, and its end is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from runtime.launchers.ranks import pipe_of
from runtime.processes.front_end.rank_pipes import AT_ONCE, RankInput
from runtime.processes.launcher.output import CreditGrants, credit_for
from runtime.processes.launcher.standard_input import StandardInput
from runtime.transport.reactor import Reactor

WAIT = 20.0


class Given:
    """An input from a pipe, and what it gave."""

    def __init__(self) -> None:
        self.reads, self.writes = os.pipe()
        self.came: SimpleQueue[bytes] = SimpleQueue()
        self.input = StandardInput(self.reads, self.came.put)

    def close(self) -> None:
        self.input.close()
        os.close(self.reads)
        if self.writes >= 0:
            os.close(self.writes)


@pytest.fixture
def given() -> Iterator[Given]:
    made = Given()
    yield made
    made.close()


def test_no_more_is_read_than_was_asked_for(given: Given) -> None:
    os.write(given.writes, b"0123456789")
    given.input.want(4)
    assert given.came.get(timeout=WAIT) == b"0123"
    with pytest.raises(Empty):
        given.came.get(timeout=0.05)
    given.input.want(100)
    assert given.came.get(timeout=WAIT) == b"456789"


def test_the_end_is_told_once(given: Given) -> None:
    os.close(given.writes)
    given.writes = -1
    given.input.want(4)
    assert given.came.get(timeout=WAIT) == b""
    given.input.want(4)
    given.input.close()
    assert given.came.empty()


def test_an_input_that_nobody_writes_can_be_closed(given: Given) -> None:
    given.input.want(4)
    given.input.close()
    assert given.came.empty()


def test_an_input_that_cannot_be_read_is_told_of_and_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    came: SimpleQueue[bytes] = SimpleQueue()
    source = StandardInput(folder, came.put)
    source.want(4)
    assert came.get(timeout=WAIT) == b""
    source.close()
    os.close(folder)
    assert "standard input cannot be read, and ends here: [Errno 21] Is a directory" in caplog.text


def test_a_rank_is_asked_for_only_when_its_pipe_has_taken_all(tmp_path: Path) -> None:
    asked: SimpleQueue[int] = SimpleQueue()
    with Reactor() as reactor:
        pipe = RankInput(reactor, str(tmp_path), asked.put)
        reactor.soon(pipe.begin)
        assert asked.get(timeout=WAIT) == AT_ONCE
        reactor.soon(lambda: pipe.put(b"x" * AT_ONCE))
        with pytest.raises(Empty):
            asked.get(timeout=0.05)
        with open(pipe_of(str(tmp_path), 0, "stdin"), "rb") as rank:
            assert rank.read(AT_ONCE) == b"x" * AT_ONCE
            assert asked.get(timeout=WAIT) == AT_ONCE
            reactor.soon(lambda: pipe.put(b""))
            assert rank.read() == b""
    assert os.listdir(tmp_path) == []


def test_a_front_end_hears_of_room_in_good_time_and_not_for_each_line() -> None:
    told: list[int] = []
    size = credit_for(4)
    credit = CreditGrants(size, told.append)
    credit.taken(0)
    assert told == [size]
    for _ in range(64):
        credit.taken(size // 64)
    assert told == [size, *4 * [size // 4]]
