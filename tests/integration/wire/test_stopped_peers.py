"""Ranks that do not run when others contact them first: who lives is waited for."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runtime.wire import PeerAbsent, PeerLeft
from tests.integration.wire.conftest import PROOF_TIMEOUT

if TYPE_CHECKING:
    Rank = Any
    Ranks = Any


def _stop_itself(rank: Rank) -> bytes:
    """Stop this process before it can say anything, as a debugger does, and then answer."""
    os.kill(os.getpid(), signal.SIGSTOP)
    said: bytes = rank.receive(b"question")
    rank.until(lambda: rank.send(0, b"answer").done)
    return said


def _until_it_is_stopped(rank: Rank) -> int:
    """Return the process number of the stopped other rank, a child of the same parent."""
    children = Path(f"/proc/{os.getppid()}/task/{os.getppid()}/children")
    while True:
        for pid in map(int, children.read_text().split()):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                return pid
        rank.connections.ready(0.01)


def _wait_in_vain(rank: Rank, pid: int) -> None:
    """Send something to the stopped rank, and wait for much longer than for a proof."""
    rank.send(1, b"question", b"why?")
    rank.until(lambda: "does not answer" in rank.connections.describe_opening(1))
    until = time.monotonic() + 6 * PROOF_TIMEOUT
    rank.until(lambda: rank.ear.gone or time.monotonic() > until)
    assert not rank.ear.gone, rank.ear.gone[1]
    assert Path(f"/proc/{pid}").exists()


both = pytest.mark.parametrize("ranks", ["unix", "tls"], indirect=True)


@both
def test_a_rank_that_is_stopped_when_it_is_first_contacted_is_waited_for(ranks: Ranks) -> None:
    def contact(rank: Rank) -> bytes:
        pid = _until_it_is_stopped(rank)
        try:
            _wait_in_vain(rank, pid)
        finally:
            os.kill(pid, signal.SIGCONT)
        answer: bytes = rank.receive(b"answer")
        return answer

    assert ranks.run(contact, _stop_itself) == [b"", b"why?"]


@both
def test_a_rank_that_is_killed_while_it_is_stopped_is_lost_at_once(ranks: Ranks) -> None:
    def contact(rank: Rank) -> str:
        pid = _until_it_is_stopped(rank)
        _wait_in_vain(rank, pid)
        os.kill(pid, signal.SIGKILL)
        rank.until(lambda: rank.ear.gone, patience=3.0)
        return str(rank.ear.gone[1])

    told, _ = ranks.run(contact, _stop_itself)
    assert told.startswith("rank 0:1:0 on here")


def _stop_once_asked(rank: Rank) -> None:
    rank.receive(b"question")
    os.kill(os.getpid(), signal.SIGSTOP)


def _ask_and_see_it_stop(rank: Rank) -> int:
    rank.send(1, b"question", b"why?")
    rank.until(rank.connections.connected)
    return _until_it_is_stopped(rank)


@pytest.mark.parametrize("ranks", ["tcp"], indirect=True)
def test_who_ends_waits_for_a_stopped_peer_until_that_has_all(ranks: Ranks) -> None:
    def leave(rank: Rank) -> bool:
        pid = _ask_and_see_it_stop(rank)
        for _ in range(4):  # more than its host takes, and less than this one keeps for it
            rank.send(1, b"last", bytes(64 << 10))
        goes_on = threading.Timer(2.5, os.kill, (pid, signal.SIGCONT))
        goes_on.start()
        rank.connections.close()
        return goes_on.finished.is_set()

    def stay(rank: Rank) -> int:
        _stop_once_asked(rank)
        return sum(len(rank.receive(b"last")) for _ in range(4))

    assert ranks.run(leave, stay) == [True, 4 * 64 << 10]


@pytest.mark.parametrize("ranks", ["unix"], indirect=True)
def test_who_finds_out_by_writing_that_a_peer_has_left_reads_what_it_said(ranks: Ranks) -> None:
    def leave(rank: Rank) -> None:
        pid = _ask_and_see_it_stop(rank)
        for _ in range(40):
            rank.send(1, b"last", bytes(8 << 10))
        rank.connections.close()
        os.kill(pid, signal.SIGCONT)

    def stay(rank: Rank) -> tuple[int, bool]:
        _stop_once_asked(rank)
        rank.send(0, b"too late", bytes(100))
        length = sum(len(rank.receive(b"last")) for _ in range(40))
        rank.until(lambda: rank.ear.gone)
        return length, isinstance(rank.ear.gone[0], PeerLeft)

    assert ranks.run(leave, stay)[1] == (320 << 10, True)


@pytest.mark.parametrize("ranks", ["tcp"], indirect=True)
def test_who_dials_a_rank_that_waits_at_its_end_is_told_that_it_has_ended(
    ranks: Ranks, tmp_path: Path
) -> None:
    waits, was_told = tmp_path / "waits", tmp_path / "told"

    def go_on_once_told(pid: int) -> None:
        waits.touch()
        while not was_told.exists():
            time.sleep(0.01)
        os.kill(pid, signal.SIGCONT)

    def leave(rank: Rank) -> None:
        pid = _ask_and_see_it_stop(rank)
        rank.send(1, b"last")
        threading.Timer(0.3, go_on_once_told, (pid,)).start()
        rank.connections.close()

    def dial(rank: Rank) -> bool:
        while not waits.exists():
            rank.connections.ready(0.01)
        rank.connections.watch(0)
        rank.until(lambda: rank.ear.gone)
        was_told.touch()
        return isinstance(rank.ear.gone[0], PeerAbsent | PeerLeft)

    assert ranks.run(leave, _stop_once_asked, dial)[2]
