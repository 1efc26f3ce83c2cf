"""Posts in processes of their own, with connections between that are reset in the middle."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runtime.wire import PeerAbsent, PeerLeft, PeerLost

if TYPE_CHECKING:
    Rank = Any
    Ranks = Any
    Relays = Any

MIB = 1 << 20
DIALLER, LISTENER = "dialler", "listener"


def fill(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


over_tcp = pytest.mark.parametrize("ranks", ["tcp", "tls"], indirect=True)
plainly = pytest.mark.parametrize("ranks", ["tcp"], indirect=True)


def exchange(rank: Rank, size: int, small: int = 50) -> tuple[list[bool], bool, int, int]:
    """Send and receive much and little, and synchronously; tell what became of it."""
    other = 1 - rank.index
    mine, theirs = fill(size, rank.index), fill(size, other)
    sent = [rank.send(other, b"large", mine), rank.send(other, b"sync", b"x" * 9000, sync=True)]
    sent += [rank.send(other, b"%d" % number, fill(number, number)) for number in range(small)]
    right = [rank.receive(b"large") == theirs, rank.receive(b"sync") == b"x" * 9000]
    right += [rank.receive(b"%d" % number) == fill(number, number) for number in range(small)]
    rank.until(lambda: all(one.done for one in sent))
    found = rank.connections.traffic()[other]
    heads = [b"large", b"sync", *(b"%d" % number for number in range(small))]
    in_order = [head for _, head in rank.ear.heads] == heads and not rank.ear.complete
    rank.connections.close()
    return right, in_order, found.connections, found.resumptions


def check_both(results: list[Any]) -> None:
    for right, in_order, connections, resumptions in results:
        assert all(right)
        assert in_order
        assert 1 <= resumptions < connections  # both dial: not every one of them is used


@over_tcp
def test_what_is_reset_in_the_middle_of_a_transfer_arrives_whole(
    ranks: Ranks, relays: Relays
) -> None:
    relays.plan.extend([5 * MIB + 11, 17 * MIB, 700_001])
    program = partial(exchange, size=64 * MIB)
    check_both(ranks.run(program, program))
    assert not relays.plan


@plainly
@pytest.mark.parametrize("whose", [DIALLER, LISTENER])
def test_an_end_that_is_not_told_of_a_reset_goes_on_over_the_next_connection(
    ranks: Ranks, relays: Relays, whose: str
) -> None:
    relays.plan.extend([5 * MIB + 11, 7 * MIB, 700_001])
    relays.whose = whose
    program = partial(exchange, size=16 * MIB)
    check_both(ranks.run(program, program))
    assert not relays.plan


@plainly
def test_connections_that_break_at_once_and_again_and_again_lose_nothing(
    ranks: Ranks, relays: Relays
) -> None:
    dice = random.Random(0)
    relays.plan.extend([100_000, 100_000])  # where there never was a connection none is resumed
    relays.plan.extend(dice.choice([10, 300, 600, 700, 2000, 100_000]) for _ in range(12))
    program = partial(exchange, size=2 * MIB)
    for right, in_order, _, _ in ranks.run(program, program):
        assert all(right)
        assert in_order


@plainly
def test_a_goodbye_is_heard_over_the_next_connection(ranks: Ranks, relays: Relays) -> None:
    """The relay is told where the goodbye begins by the size of all that goes before it."""
    relays.plan.extend([3 * MIB])

    def leaver(rank: Rank) -> None:
        rank.send(1, b"last", fill(3 * MIB - 1000, 1))
        rank.connections.close()

    def stayer(rank: Rank) -> tuple[bool, bool]:
        rank.until(lambda: rank.ear.gone)
        found = rank.receive(b"last") == fill(3 * MIB - 1000, 1)
        return isinstance(rank.ear.gone[0], PeerLeft), found

    assert ranks.run(leaver, stayer)[1] == (True, True)


@plainly
def test_whoever_ended_without_a_word_is_lost_at_once(ranks: Ranks) -> None:
    def victim(rank: Rank) -> None:
        rank.receive(b"hello")
        os.kill(os.getpid(), signal.SIGKILL)

    def survivor(rank: Rank) -> tuple[str, float]:
        rank.send(0, b"hello")
        rank.until(rank.connections.connected)
        rank.until(lambda: rank.ear.gone)
        gone = rank.ear.gone[0]
        assert isinstance(gone, PeerLost)
        assert not isinstance(gone, PeerAbsent | PeerLeft)
        return str(gone), rank.connections.now()

    words, _ = ranks.run(victim, survivor)[1]
    assert "is not there any more. It has ended" in words


def _shut_all_sockets() -> None:
    """Break all connections of this process, and let its system refuse others."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError), socket.socket(fileno=os.dup(int(name))) as found:
            if found.family == socket.AF_INET:
                found.shutdown(socket.SHUT_RDWR)


@plainly
@pytest.mark.parametrize("comes_back", [True, False])
def test_who_is_refused_by_the_host_of_a_peer_that_lives_lets_others_decide_and_tries_on(
    ranks: Ranks, tmp_path: Path, *, comes_back: bool
) -> None:
    """As where a firewall says for a while that nobody is there."""
    flag = tmp_path / "suspected"

    def refusing(rank: Rank) -> bytes:
        rank.receive(b"hello")
        _shut_all_sockets()
        while not flag.exists():
            time.sleep(0.01)
        return rank.receive(b"again") if comes_back else b""

    def suspecting(rank: Rank) -> tuple[list[str], str]:
        told: list[Any] = []
        rank.connections.suspect = lambda _, why: told.append(why)
        rank.connections.resume_timeout = 0.5
        rank.until(lambda: rank.send(0, b"hello").done)
        rank.until(lambda: told)
        assert not rank.ear.gone
        flag.touch()
        if comes_back:
            sent = rank.send(0, b"again", b"back")
            rank.until(lambda: told[-1] is None and sent.done)
        else:
            rank.connections.confirm(0)
            rank.until(lambda: rank.ear.gone)
        return [str(why) for why in told[1:]], str(rank.ear.gone.get(0, ""))

    came, (later, gone) = ranks.run(refusing, suspecting)
    assert came == (b"back" if comes_back else b"")
    assert later == (["None"] if comes_back else [])
    assert ("cannot be reached" in gone) is not comes_back


@plainly
def test_another_process_in_the_place_of_a_peer_is_not_taken_for_it(ranks: Ranks) -> None:
    def twin(rank: Rank) -> int:
        rank.receive(b"hello")
        rank.send(1, b"one", bytes(5000))
        rank.until(lambda: rank.ear.gone)
        return 0

    def survivor(rank: Rank) -> tuple[str, bool]:
        rank.send(0, b"hello")
        rank.receive(b"one")
        peer = rank.connections._peers[0]
        peer.receiver._told += 1  # as if it had said more before
        peer.line._socket.shutdown(socket.SHUT_RDWR)
        rank.until(lambda: rank.ear.gone)
        return str(rank.ear.gone[0]), isinstance(rank.ear.gone[0], PeerLost)

    words, is_lost = ranks.run(twin, survivor)[1]
    assert is_lost
    assert "the connection cannot be resumed" in words
    assert "It is another process now" in words


def test_a_connection_rests_in_agreement_and_opens_again(ranks: Ranks) -> None:
    def program(rank: Rank) -> list[Any]:
        other = 1 - rank.index
        found: list[Any] = []
        for turn in range(3):
            sent = rank.send(other, b"%d" % turn, fill(400_000, turn))
            found.append(rank.receive(b"%d" % turn) == fill(400_000, turn))
            rank.until(lambda sent=sent: sent.done)
            if rank.index == 0 or turn == 2:  # at last both ask
                rank.until(lambda: rank.connections.rest(other) or not rank.connections.connected())
            rank.until(lambda: not rank.connections.connected())
        one = rank.connections.traffic()[other]
        return [*found, one.resumptions, not rank.ear.gone]

    for found in ranks.run(program, program):
        assert found == [True, True, True, 0, True]


def test_who_has_something_to_say_does_not_rest(ranks: Ranks) -> None:
    def asker(rank: Rank) -> tuple[bool, int]:
        rank.receive(b"large")
        has_begun = rank.connections.rest(1)
        rank.receive(b"match me")
        rank.send(1, b"end")
        return has_begun, rank.connections.traffic()[1].connections

    def busy(rank: Rank) -> bool:
        rank.ear.keeps = True
        large = rank.send(0, b"large", bytes(MIB))
        rank.until(lambda: large.done)
        sync = rank.send(0, b"match me", b"", sync=True)
        has_begun = rank.connections.rest(0)
        rank.until(lambda: sync.done and rank.ear.kept)
        return bool(has_begun)

    (_, connections), has_begun = ranks.run(asker, busy)
    assert not has_begun
    assert connections <= 2


def test_who_has_no_connection_has_none_to_rest(ranks: Ranks) -> None:
    def program(rank: Rank) -> tuple[bool, dict[int, int]]:
        return rank.connections.rest(1), dict(rank.connections.connected())

    def other(rank: Rank) -> None:
        assert rank.index == 1

    assert ranks.run(program, other)[0] == (False, {})
