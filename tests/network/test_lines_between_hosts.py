"""Lines between hosts that are cut, heal, and are reset in the middle of a transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    Pair = Any

pytestmark = pytest.mark.needs_root

MIB = 1 << 20


def test_a_cut_that_both_ends_notice_is_resumed_when_it_heals(pair: Pair) -> None:
    pair.start(64 * MIB, silence=2.0, tls=True)
    pair.both("begun")
    pair.cut()
    pair.both("interrupted")
    pair.heal()
    for right, resumptions in pair.both("ended"):
        assert right
        assert resumptions >= 1


def test_a_cut_that_is_brief_is_no_interruption(pair: Pair) -> None:
    pair.start(32 * MIB, tls=False)
    pair.both("begun")
    pair.cut()
    pair.heal()
    assert pair.both("ended") == [[True, 0], [True, 0]]


def test_one_direction_alone_that_is_cut_is_noticed_by_both(pair: Pair) -> None:
    pair.start(32 * MIB, silence=2.0, tls=False)
    pair.both("begun")
    pair.grid.cut("c0", "c1", one_way=True)
    pair.both("interrupted")
    pair.grid.heal("c0", "c1", one_way=True)
    for right, resumptions in pair.both("ended"):
        assert right
        assert resumptions >= 1


@pytest.mark.parametrize(("cluster", "tls"), [("c0", True), ("c1", False)])
def test_a_connection_that_is_reset_is_resumed(pair: Pair, cluster: str, tls: bool) -> None:
    pair.start(64 * MIB, tls=tls)
    pair.both("begun")
    pair.kill_connection(cluster)
    for right, resumptions in pair.both("ended"):
        assert right
        assert resumptions == 1


def test_a_half_open_connection_gives_way_to_the_next_one(pair: Pair) -> None:
    """The end that is not told keeps its connection until the other one dials again."""
    pair.start(32 * MIB, tls=False)
    pair.both("begun")
    pair.cut()
    pair.kill_connection("c1")
    pair.ranks[1].until("interrupted")
    pair.heal()
    for right, resumptions in pair.both("ended"):
        assert right
        assert resumptions == 1


def test_a_network_that_loses_large_packets_is_passed_in_small_ones(pair: Pair) -> None:
    """Without a word to the sender: only what proves both ends in TLS is large at first."""
    words = ["!", "-i", "lo", "-m", "length", "--length", "1000:65535", "-j", "DROP"]
    for cluster in pair.grid.clusters:
        done = pair.grid.run(cluster, ["iptables", "-A", "INPUT", *words], timeout=20)
        assert done.returncode == 0, done.stderr
    pair.start(64 << 10, tls=True)
    for right, _ in pair.both("ended"):
        assert right


def test_a_cut_that_does_not_heal_is_a_loss_in_bounded_time(pair: Pair) -> None:
    pair.start(32 * MIB, silence=2.0, patience=3.0, tls=False)
    pair.both("begun")
    pair.cut()
    for number, why in enumerate(pair.both("lost")):
        assert why.startswith(f"rank {1 - number}:0:0 on c{1 - number} (10.77.{1 - number}.1:5800)")
        assert f"the link from cluster {number}:0 to cluster {1 - number}:0 is broken" in why
        assert f"10.77.{1 - number}.1:5800 does not answer" in why


def test_lanes_that_are_cut_lose_and_repeat_nothing(pair: Pair) -> None:
    """All connections are silent at once, and those that the system resets break at once."""
    pair.start(48 * MIB, silence=2.0, tls=True, windows=64 << 10)
    pair.both("broad")
    pair.cut()
    pair.both("interrupted")
    pair.heal()
    for right, resumptions in pair.both("ended"):
        assert right
        assert resumptions >= 1


def test_lanes_that_are_reset_with_all_other_connections_lose_and_repeat_nothing(
    pair: Pair,
) -> None:
    pair.start(48 * MIB, tls=False, windows=64 << 10)
    pair.both("broad")
    pair.kill_connection("c1")
    for right, resumptions in pair.both("ended"):
        assert right
        assert resumptions == 1
