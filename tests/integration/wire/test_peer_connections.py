"""Posts in two and three real processes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from runtime.wire import PeerLeft, PeerLost

if TYPE_CHECKING:
    Rank = Any
    Ranks = Any

MIB = 1 << 20


def fill(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def test_messages_of_all_sizes_arrive_whole_and_in_order(ranks: Ranks) -> None:
    sizes = [0, 1, 2048, 2049, 8 << 10, (8 << 10) + 1, 3 * MIB, 5, 20 * MIB, 7]

    def sender(rank: Rank) -> bool:
        sent = [
            rank.send(1, b"%d" % number, fill(size, number)) for number, size in enumerate(sizes)
        ]
        rank.until(lambda: all(one.done for one in sent))
        return all(one.error is None for one in sent)

    def receiver(rank: Rank) -> tuple[list[bytes], list[bool]]:
        found = [rank.receive(b"%d" % number) for number in range(len(sizes))]
        right = [found[number] == fill(size, number) for number, size in enumerate(sizes)]
        return [head for _, head in rank.ear.heads], right

    good, (heads, right) = ranks.run(sender, receiver)
    assert good
    assert heads == [b"%d" % number for number in range(len(sizes))]
    assert right == [True] * len(sizes)


def test_large_transfers_both_ways_at_once_do_not_block_each_other(ranks: Ranks) -> None:
    def program(rank: Rank) -> bool:
        other = 1 - rank.index
        mine, theirs = fill(30 * MIB, rank.index), fill(30 * MIB, other)
        sent = [rank.send(other, b"a", mine), rank.send(other, b"b", mine)]
        good = rank.receive(b"a") == theirs and rank.receive(b"b") == theirs
        rank.until(lambda: all(one.done for one in sent))
        return bool(good)

    assert ranks.run(program, program) == [True, True]


def test_simultaneous_connects_of_three_end_in_one_connection_per_pair(ranks: Ranks) -> None:
    def program(rank: Rank) -> tuple[list[int], list[bytes]]:
        others = [index for index in range(3) if index != rank.index]
        for number in range(50):
            for other in others:
                rank.send(other, b"%d" % number, b"x" * number)
        rank.until(lambda: len(rank.ear.complete) >= 100)
        for other in others:
            rank.send(other, b"over")
        rank.until(lambda: sum(head == b"over" for _, head in rank.ear.heads) == 2)
        heads = [head for source, head in rank.ear.heads if source == others[0]]
        return [one.connections for one in rank.connections.traffic().values()], heads[:-1]

    for _ in range(3):
        for connections, heads in ranks.run(program, program, program):
            assert connections == [1, 1]
            assert heads == [b"%d" % number for number in range(50)]


def test_a_small_message_overtakes_a_large_one(ranks: Ranks) -> None:
    def sender(rank: Rank) -> None:
        large = rank.send(1, b"large", bytes(64 * MIB))
        rank.send(1, b"small", b"!")
        rank.until(lambda: large.done)

    def receiver(rank: Rank) -> list[bytes]:
        rank.until(lambda: len(rank.ear.complete) == 2)
        return [one.head for one in rank.ear.complete]

    assert ranks.run(sender, receiver)[1] == [b"small", b"large"]


def test_a_synchronous_send_waits_for_its_match(ranks: Ranks) -> None:
    def sender(rank: Rank) -> bool:
        outgoing = rank.send(1, b"sync", b"data", sync=True)
        rank.receive(b"now")
        was_done = outgoing.done
        rank.send(1, b"match it")
        rank.until(lambda: outgoing.done)
        return bool(was_done)

    def receiver(rank: Rank) -> None:
        rank.ear.keeps = True
        rank.until(lambda: rank.ear.kept)
        rank.ear.keeps = False
        rank.send(0, b"now")
        rank.receive(b"match it")
        rank.ear.kept[0].take()
        rank.until(lambda: rank.ear.gone)

    assert ranks.run(sender, receiver)[0] is False


def test_an_unread_sender_is_held_back_until_a_late_receiver_takes_it_all(ranks: Ranks) -> None:
    def sender(rank: Rank) -> tuple[int, bool]:
        data = fill(MIB, 1)
        sent = [rank.send(1, b"%d" % number, data) for number in range(24)]
        rank.receive(b"go on")
        early = sum(one.done for one in sent)
        rank.until(lambda: all(one.done for one in sent))
        return early, all(one.error is None for one in sent)

    def receiver(rank: Rank) -> bool:
        rank.ear.keeps = True
        rank.until(lambda: len(rank.ear.kept) == 24)
        rank.ear.keeps = False
        rank.send(0, b"go on")
        for one in reversed(rank.ear.kept):
            one.give(memoryview(bytearray(MIB)))
        rank.until(lambda: all(one.done for one in rank.ear.kept))
        return all(bytes(one.payload) == fill(MIB, 1) for one in rank.ear.kept)

    (early, good), right = ranks.run(sender, receiver)
    assert early <= 8
    assert good
    assert right


def test_a_killed_peer_is_named_to_whoever_sends_and_waits(ranks: Ranks) -> None:
    def victim(rank: Rank) -> None:
        rank.receive(b"hello")
        os.kill(os.getpid(), signal.SIGKILL)

    def survivor(rank: Rank) -> list[str]:
        rank.send(0, b"hello")
        sent = rank.send(0, b"never", bytes(64 * MIB), sync=True)
        rank.until(lambda: rank.ear.gone)
        assert isinstance(rank.ear.gone[0], PeerLost)
        assert not isinstance(rank.ear.gone[0], PeerLeft)
        assert sent.done
        again = rank.send(0, b"again")
        assert again.done
        return [str(one) for one in (rank.ear.gone[0], sent.error, again.error)]

    _, words = ranks.run(victim, survivor)
    assert len(set(words)) == 1
    assert words[0].startswith("rank 0:0:0 on here (")
    is_unix = "(unix:" in words[0]  # dialled again it refuses, as a firewall may
    told = "is lost: " if is_unix else "is not there any more. It has ended, unless a firewall"
    assert f") {told}" in words[0]


def test_a_watched_peer_that_is_killed_is_noticed_without_a_message(ranks: Ranks) -> None:
    def victim(rank: Rank) -> None:
        rank.until(rank.connections.traffic)
        rank.connections.ready(0.05)
        rank.connections.progress()
        os.kill(os.getpid(), signal.SIGKILL)

    def survivor(rank: Rank) -> int:
        rank.connections.watch(0)
        rank.until(lambda: rank.ear.gone)
        return len(rank.ear.gone)

    assert ranks.run(victim, survivor)[1] == 1


def test_a_peer_that_ends_in_order_delivers_all_and_has_left(ranks: Ranks) -> None:
    def leaver(rank: Rank) -> None:
        rank.send(1, b"large", fill(8 * MIB, 3))
        rank.send(1, b"last", b"words")
        rank.connections.close()

    def stayer(rank: Rank) -> tuple[str, bool, bool]:
        rank.until(lambda: rank.ear.gone)
        why = rank.ear.gone[0]
        found = rank.receive(b"large") == fill(8 * MIB, 3)
        return str(why), isinstance(why, PeerLeft), found and rank.receive(b"last") == b"words"

    words, has_left, is_complete = ranks.run(leaver, stayer)[1]
    assert words.endswith("has ended")
    assert has_left
    assert is_complete


def test_a_peer_that_was_never_there_is_lost_in_bounded_time(ranks: Ranks) -> None:
    def absent(rank: Rank) -> None:
        os._exit(0)

    def caller(rank: Rank) -> str:
        outgoing = rank.send(0, b"hello", bytes(5000))
        rank.until(lambda: outgoing.done)
        assert outgoing.error is rank.connections.why_lost(0)
        return str(outgoing.error)

    assert "0:0:0 on here" in ranks.run(absent, caller)[1]


@pytest.mark.parametrize("ranks", ["unix"], indirect=True)
def test_the_end_waits_for_nobody_whose_socket_says_that_it_has_ended(ranks: Ranks) -> None:
    """Where others decide who is lost, but do not tell of each rank that ends well."""

    def absent(rank: Rank) -> None:
        os._exit(0)

    def ending(rank: Rank) -> str:
        rank.connections.suspect = lambda *_: None
        rank.connections.resume_timeout = 1e9
        outgoing = rank.send(0, b"a notice", bytes(5000))
        rank.connections.close()
        return str(outgoing.error)

    assert "0:0:0 on here" in ranks.run(absent, ending)[1]


def test_strangers_are_sent_away_and_members_served(ranks: Ranks) -> None:
    def host(rank: Rank) -> bytes:
        return bytes(rank.receive(b"friend"))

    def guest(rank: Rank) -> list[int]:
        address = rank.connections._directory.party(0).addresses[0]
        left = []
        # always the same: about one of a hundred begins like TLS, which answers that by an alert
        noise = random.Random(7).randbytes(500)
        for said in (b"GET / HTTP/1.1\r\n\r\n" * 20, noise):
            if address.startswith("unix:"):
                stranger = socket.socket(socket.AF_UNIX)
                stranger.connect(address[5:])
            else:
                stranger = socket.create_connection(("127.0.0.1", int(address.split(":")[1])))
            stranger.sendall(said)
            stranger.settimeout(10)
            try:
                left.append(len(stranger.recv(100)))
            except ConnectionError:
                left.append(0)
            stranger.close()
        rank.send(0, b"friend", b"in")
        rank.until(lambda: rank.ear.gone)
        return left

    word, left = ranks.run(host, guest)
    assert word == b"in"
    assert left == [0, 0]


def test_another_thread_wakes_all_that_sleep(ranks: Ranks) -> None:
    def program(rank: Rank) -> list[bool]:
        woken: list[bool] = []
        sleepers = [
            threading.Thread(target=lambda: woken.append(rank.connections.ready(10)))
            for _ in range(3)
        ]
        for one in sleepers:
            one.start()
        while rank.connections._sleepers < 3:
            pass
        rank.connections.wake()
        for one in sleepers:
            one.join()
        return [*woken, rank.connections.ready(0)]

    assert ranks.run(program) == [[True, True, True, False]]


def event_descriptors() -> set[tuple[str, str]]:
    """The numbers and kinds of the epoll and event descriptors that this process holds."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the listing itself
            kind = os.readlink(f"/proc/self/fd/{name}")
            if "eventpoll" in kind or "eventfd" in kind:
                found.add((name, kind))
    return found


def test_no_descriptor_is_left_after_the_end(ranks: Ranks) -> None:
    of_the_tests = event_descriptors()  # such as native MPI's: ranks here begin as forks

    def program(rank: Rank) -> set[tuple[str, str]]:
        others = [index for index in range(3) if index != rank.index]
        for other in others:
            rank.send(other, b"x", bytes(MIB))
        rank.until(lambda: len(rank.ear.complete) == 2)
        rank.connections.close()
        return event_descriptors() - of_the_tests

    assert ranks.run(program, program, program) == [set(), set(), set()]


@pytest.mark.parametrize("size", [0, 100, 40 << 10])
def test_traffic_counts_messages_and_bytes(ranks: Ranks, size: int) -> None:
    def pinger(rank: Rank) -> tuple[int, ...]:
        for number in range(10):
            rank.send(1, b"%d" % number, bytes(size))
        rank.receive(b"pong")
        found = rank.connections.traffic()[1]
        return (found.sent_messages, found.sent_bytes, found.received_messages, found.connections)

    def ponger(rank: Rank) -> None:
        rank.until(lambda: len(rank.ear.complete) == 10)
        rank.send(0, b"pong")

    assert ranks.run(pinger, ponger)[0] == (10, 10 * size, 1, 1)
