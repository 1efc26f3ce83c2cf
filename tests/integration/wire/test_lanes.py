"""Posts in processes of their own, with several connections between, some of which break."""

from __future__ import annotations

import hashlib
import os
import random
import socket
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runtime.wire import PeerLeft

if TYPE_CHECKING:
    Rank = Any
    Ranks = Any
    Relays = Any

MIB = 1 << 20
WHOLE = 1 << 60
DIALLER, LISTENER = "dialler", "listener"


def fill(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def checksum(data: bytes) -> str:
    return hashlib.blake2b(data).hexdigest()


over_tcp = pytest.mark.parametrize("ranks", ["tcp", "tls"], indirect=True)
plainly = pytest.mark.parametrize("ranks", ["tcp"], indirect=True)


def want(rank: Rank, other: int, lanes: int) -> None:
    """Do as if the peer had asked for so many: on the loopback nobody needs any."""
    held = rank.connections._peers[other].streams.opened()
    held._wanted = 1 + lanes
    held._measured_at = 0.0
    rank.connections.tick_soon()


def meet(rank: Rank) -> int:
    """Open the first connection, by the first rank; return the other one."""
    other: int = 1 - rank.index
    if rank.index == 0:
        rank.send(other, b"hello")
        rank.receive(b"hello")
    else:
        rank.receive(b"hello")
        rank.send(other, b"hello")
    return other


def broaden(rank: Rank, other: int, lanes: int) -> None:
    want(rank, other, lanes)
    rank.until(lambda: rank.connections.traffic()[other].lanes == lanes)
    if rank.index == 0:
        rank.send(other, b"broad")
    else:
        rank.receive(b"broad")


def exchange(rank: Rank, lanes: int, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Send and receive much, and little meanwhile; tell what became of it."""
    inherited = open_sockets()  # of a relay that the other rank has reached before this one began
    other = meet(rank)
    broaden(rank, other, lanes)
    sent = []
    for number, size in enumerate(sizes):
        payload = fill(size, 100 * rank.index + number)
        sent.append(rank.send(other, b"large %d" % number, payload, sync=number % 2 == 1))
        sent.append(rank.send(other, b"small %d" % number, b"%d" % number))
    right = []
    for number, size in enumerate(sizes):
        expected = checksum(fill(size, 100 * other + number))
        right.append(checksum(rank.receive(b"large %d" % number)) == expected)
        right.append(rank.receive(b"small %d" % number) == b"%d" % number)
    rank.until(lambda: all(one.done for one in sent))
    heads = [head for _, head in rank.ear.heads if head.startswith((b"large", b"small"))]
    wanted = [b"%s %d" % (word, n) for n in range(len(sizes)) for word in (b"large", b"small")]
    held = rank.connections._peers[other].streams.lanes
    carried = [lane.sender.written for lane in held._open.values()]
    found = rank.connections.traffic()[other]
    rank.send(other, b"counted")  # who closes first takes the lanes of both
    rank.receive(b"counted")
    rank.connections.close()
    return {
        "right": all(right) and not rank.ear.complete,
        "faults": [one.error for one in sent if one.error],
        "in order": heads == wanted,
        "carried": carried,
        "traffic": found,
        "files": open_sockets() - inherited,
    }


def open_sockets() -> int:
    """Return how many sockets this process still has."""
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += os.readlink(one).startswith("socket:") and is_connected(int(one.name))
    return found


def is_connected(descriptor: int) -> bool:
    with socket.socket(fileno=os.dup(descriptor)) as one:
        if one.family != socket.AF_INET:
            return False
        with suppress(OSError):
            one.getpeername()
            return True
    return False


def check(results: list[dict[str, Any]]) -> None:
    for result in results:
        assert result["right"], results
        assert result["in order"], results
        assert not result["faults"], results
        assert not result["files"], results


@over_tcp
def test_large_payloads_go_over_all_lanes_and_arrive_whole_and_in_order(ranks: Ranks) -> None:
    program = partial(exchange, lanes=3, sizes=(16 * MIB + 7, 5 * MIB, 300_001, 9 * MIB))
    results = ranks.run(program, program)
    check(results)
    for result in results:
        assert result["traffic"].lanes == 3
        assert sum(one > 256 << 10 for one in result["carried"]) == 3, results
        assert result["traffic"].connections == 1


@over_tcp
def test_a_lane_that_is_reset_in_the_middle_loses_and_repeats_nothing(
    ranks: Ranks, relays: Relays
) -> None:
    relays.plan.extend([WHOLE, 3 * MIB + 11, 1_000_003, 5 * MIB])
    program = partial(exchange, lanes=3, sizes=(20 * MIB + 7, 9 * MIB, 300_001))
    results = ranks.run(program, program)
    check(results)
    assert not relays.plan
    for result in results:
        assert result["traffic"].resumptions == 0


@plainly
@pytest.mark.parametrize("whose", [DIALLER, LISTENER])
def test_an_end_that_hears_nothing_of_a_broken_lane_is_told_by_the_other_one(
    ranks: Ranks, relays: Relays, whose: str
) -> None:
    relays.plan.extend([WHOLE, 3 * MIB + 11, 1_000_003, 5 * MIB])
    relays.whose = whose
    program = partial(exchange, lanes=3, sizes=(20 * MIB + 7, 9 * MIB, 300_001))
    check(ranks.run(program, program))


@plainly
def test_whatever_breaks_and_whenever_all_arrives(ranks: Ranks, relays: Relays) -> None:
    """The first connection breaks, too, and lanes before they are used."""
    dice = random.Random(0)
    relays.plan.extend([8 * MIB, *(dice.randrange(1 << dice.randrange(9, 23)) for _ in range(12))])
    program = partial(exchange, lanes=3, sizes=(16 * MIB + 7, 300_001, 9 * MIB))
    for result in ranks.run(program, program):
        assert result["right"]
        assert result["in order"]
        assert not result["faults"]


@plainly
def test_lanes_end_before_a_connection_rests(ranks: Ranks) -> None:
    def program(rank: Rank) -> tuple[bool, int, int]:
        other = meet(rank)
        broaden(rank, other, 3)
        if rank.index == 0:
            rank.send(other, b"large", fill(4 * MIB, 3))
            began = rank.connections.rest(other)
            rank.until(lambda: rank.connections.rest(other) or not rank.connections.connected())
        else:
            began = rank.receive(b"large") != fill(4 * MIB, 3)
        rank.until(lambda: not rank.connections.connected())
        return began, rank.connections.lanes, rank.connections.traffic()[other].connections

    for began, lanes, connections in ranks.run(program, program):
        assert not began
        assert lanes == 0
        assert connections == 1


@plainly
def test_all_lanes_of_a_peer_that_ends_are_closed(ranks: Ranks) -> None:
    def leaver(rank: Rank) -> None:
        other = meet(rank)
        broaden(rank, other, 3)
        rank.send(other, b"last", fill(16 * MIB, 1))
        rank.connections.close()

    def stayer(rank: Rank) -> tuple[bool, bool, int, int]:
        other = meet(rank)
        broaden(rank, other, 3)
        rank.until(lambda: rank.ear.gone)
        is_right = rank.receive(b"last") == fill(16 * MIB, 1)
        is_left = isinstance(rank.ear.gone[other], PeerLeft)
        rank.connections.progress()
        return is_right, is_left, rank.connections.lanes, len(rank.connections._handlers)

    is_right, is_left, lanes, _ = ranks.run(leaver, stayer)[1]
    assert is_right
    assert is_left
    assert lanes == 0


@plainly
def test_a_lane_to_a_rank_that_knows_of_no_pair_is_refused(ranks: Ranks) -> None:
    def stranger(rank: Rank) -> int:
        rank.connections.connector.between[1] = ()  # as if it had dialled before
        with socket.socket() as first:
            lanes = want_one(rank, first)
            # on a busy machine it may have been refused by now, or have taken too long
            rank.until(lambda: lanes._next and not lanes._openings)
            found = rank.connections.lanes
            lanes._wanted = 1
            lanes.joined(None)
        rank.send(1, b"hello")
        rank.receive(b"hello")
        return int(found)

    def want_one(rank: Rank, first: socket.socket) -> Any:
        lanes = rank.connections._meet(1).streams.opened()
        assert not lanes._next  # none was tried
        lanes.joined(first)
        want(rank, 1, 1)
        rank.connections.progress()
        return lanes

    def host(rank: Rank) -> int:
        rank.receive(b"hello")
        found = rank.connections.lanes
        rank.send(0, b"hello")
        return int(found)

    assert ranks.run(stranger, host) == [0, 0]
