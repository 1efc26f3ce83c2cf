"""A rank writes into the pipes its front-end made for it, and every line arrives in order."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.engine.rank_pipes import RankPipes
from runtime.launchers.base import Stream
from runtime.launchers.ranks import pipe_of
from runtime.transport.reactor import Reactor

PROGRAM = """
import os, sys
from runtime.launchers.ranks import write_to_pipes
print("before", flush=True)
print(write_to_pipes(sys.argv[1], 1), flush=True)
print("on stderr", file=sys.stderr, flush=True)
os.system("echo from a child")
os.write(5, b"for mpiexec")  # the first number that was free behind both pipes
"""


class Heard:
    """Pipes of two ranks, and what came through them."""

    def __init__(self, reactor: Reactor, folder: Path) -> None:
        self.lines: list[tuple[int, str, str]] = []
        self.pipes = RankPipes(reactor, str(folder), 2, self._say)

    def _say(self, rank: int, stream: Stream, lines: list[str]) -> None:
        self.lines += [(rank, str(stream), line) for line in lines]

    def to_the_end(self) -> list[tuple[int, str, str]]:
        over = threading.Event()
        self.pipes.finish(over.set)
        assert over.wait(20)
        return self.lines


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    with Reactor() as reactor:
        yield Heard(reactor, tmp_path)


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_what_a_rank_and_its_children_write_goes_into_its_pipes(
    heard: Heard, tmp_path: Path
) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "before\nfor mpiexec", "")
    assert sorted(heard.to_the_end()) == [
        (1, "stderr", "on stderr"),
        (1, "stdout", "True"),
        (1, "stdout", "from a child"),
    ]


def test_without_pipes_nothing_changes(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.stdout.startswith("before\nFalse\nfrom a child\n")
    assert "on stderr" in done.stderr


def test_more_than_a_pipe_holds_arrives_in_order_with_the_line_that_has_no_end(
    heard: Heard, tmp_path: Path
) -> None:
    lines = [f"line {number}" for number in range(50_000)]
    with open(pipe_of(str(tmp_path), 0, "stdout"), "w") as pipe:
        pipe.write("\n".join(lines))
    assert heard.to_the_end() == [(0, "stdout", line) for line in lines]


def test_pipes_are_private_and_gone_in_the_end(heard: Heard, tmp_path: Path) -> None:
    names = ["0.stderr", "0.stdout", "1.stderr", "1.stdout"]
    assert sorted(os.listdir(tmp_path)) == names
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in names} == {0o600}
    assert heard.to_the_end() == []
    assert os.listdir(tmp_path) == []


def test_pipes_that_are_there_already_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0.stdout")
    with Reactor() as reactor, pytest.raises(FileExistsError):
        Heard(reactor, tmp_path)
