"""A rank writes into the pipes its front-end made for it, and every line arrives in order."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from runtime.launchers.ranks import pipe_of
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.processes.front_end.rank_pipes import AT_ONCE, Block, RankPipes
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

    def __init__(self, reactor: Reactor, folder: Path, *, most: int = 1 << 30) -> None:
        self.credit = OutputCredit(reactor, 1)
        reactor.soon(lambda: self.credit.output_taken(most))
        self.data: dict[tuple[int, str], bytes] = {}
        self.changed = threading.Condition()
        self._reactor = reactor
        self.pipes = RankPipes(reactor, str(folder), 2, self._say, self.credit)

    def _say(self, blocks: list[Block]) -> None:
        for rank, stream, block in blocks:
            self.credit.put(len(block), partial(self._take, (rank, str(stream)), block))

    def _take(self, key: tuple[int, str], block: bytes) -> None:
        with self.changed:
            self.data[key] = self.data.get(key, b"") + block
            self.changed.notify_all()

    def to_the_end(self) -> dict[tuple[int, str], bytes]:
        over = threading.Event()
        self._reactor.soon(self.pipes.finish)
        self._reactor.soon(over.set)
        assert over.wait(20)
        return self.data


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
    assert heard.to_the_end() == {
        (1, "stderr"): b"on stderr\n",
        (1, "stdout"): b"True\nfrom a child\n",
    }


def test_without_pipes_nothing_changes(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.stdout.startswith("before\nFalse\nfrom a child\n")
    assert "on stderr" in done.stderr


def test_more_than_a_pipe_holds_arrives_in_order_with_the_line_that_has_no_end(
    heard: Heard, tmp_path: Path
) -> None:
    text = "\n".join(f"line {number}" for number in range(50_000)).encode()
    Path(pipe_of(str(tmp_path), 0, "stdout")).write_bytes(text)
    assert heard.to_the_end() == {(0, "stdout"): text}


def test_a_rank_waits_while_nobody_takes_its_output(tmp_path: Path) -> None:
    text = b"a line of sixteen\n" * 100_000
    with Reactor() as reactor:
        heard = Heard(reactor, tmp_path, most=1)
        path = Path(pipe_of(str(tmp_path), 0, "stdout"))
        writer = threading.Thread(target=path.write_bytes, args=(text,))
        writer.start()
        with heard.changed:
            assert heard.changed.wait_for(lambda: heard.data, 20)
        writer.join(0.2)
        assert writer.is_alive()
        assert len(heard.data[0, "stdout"]) <= AT_ONCE
        reactor.soon(lambda: heard.credit.output_taken(1 << 30))
        writer.join(20)
        assert not writer.is_alive()
        assert heard.to_the_end() == {(0, "stdout"): text}


def test_pipes_are_private_and_gone_in_the_end(heard: Heard, tmp_path: Path) -> None:
    names = ["0.stderr", "0.stdout", "1.stderr", "1.stdout"]
    assert sorted(os.listdir(tmp_path)) == names
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in names} == {0o600}
    assert heard.to_the_end() == {}
    assert os.listdir(tmp_path) == []


def test_pipes_that_are_there_already_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0.stdout")
    with Reactor() as reactor, pytest.raises(FileExistsError):
        Heard(reactor, tmp_path)
