"""Ranks that do not run when others contact them first: who lives is waited for."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

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


@pytest.mark.parametrize("ranks", ["tcp"], indirect=True)
def test_who_ends_does_not_wait_for_a_stopped_peer_whose_host_has_answered(ranks: Ranks) -> None:
    ranks.silence = 3600.0

    def leave(rank: Rank) -> None:
        rank.send(1, b"question", b"why?")
        rank.until(rank.connections.connected)
        pid = _until_it_is_stopped(rank)
        for _ in range(4):  # more than its host takes, and less than this one keeps for it
            rank.send(1, b"last", bytes(64 << 10))
        signal.alarm(20)
        rank.connections.close()
        signal.alarm(0)
        os.kill(pid, signal.SIGCONT)

    def stay(rank: Rank) -> int:
        rank.receive(b"question")
        os.kill(os.getpid(), signal.SIGSTOP)
        return sum(len(rank.receive(b"last")) for _ in range(4))

    assert ranks.run(leave, stay)[1] == 4 * 64 << 10
