"""How many messages and bytes cross each link, and how long it takes, against the optimum."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.collectives import turns
from runtime.collectives.allgathering import allgather
from runtime.collectives.barrier import barrier
from runtime.collectives.blocks import SEGMENT, SMALL, Blocks
from runtime.collectives.broadcast import bcast, bcast_blob
from runtime.collectives.exchanging import alltoall
from runtime.collectives.gathering import gather, scatter
from runtime.collectives.reducing import allreduce, reduce, reduce_scatter
from runtime.collectives.runs import allreduce_ordered, reduce_ordered, scan_ordered

# two sites of two clusters of two ranks; three unequal sites; ranks dealt in turn
SQUARE = [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1)]
UNEQUAL = [(0, 0), (1, 0), (1, 0), (2, 0), (2, 0), (2, 1)]
CYCLIC = [(rank % 2, 0) for rank in range(6)]
LAYOUTS = pytest.mark.parametrize("places", [SQUARE, UNEQUAL, CYCLIC])
WAN, LAN = 1000.0, 10.0


def keep(left: memoryview, right: memoryview) -> None:
    """Stand for an operation; what it computes does not matter here."""


def join(blobs: Any) -> bytes:
    return bytes(blobs[-1])


def pairs(places: Any) -> set[tuple[int, int]]:
    sites = {site for site, _ in places}
    return {(a, b) for a in sites for b in sites if a != b}


def ranks_in(places: Any, site: int) -> int:
    return sum(1 for place in places if place[0] == site)


def room(size: int) -> memoryview:
    return memoryview(bytearray(size))


@LAYOUTS
def test_a_barrier_sends_one_empty_message_each_way_between_two_sites(
    machine: Any, places: Any
) -> None:
    grid = machine(places)
    grid.run(barrier)
    assert grid.wan_messages == dict.fromkeys(pairs(places), 1)
    assert sum(grid.wan_bytes.values()) == 0
    assert all(count == 1 for count in grid.lan_messages.values())
    assert grid.now <= WAN + 2 * LAN


@LAYOUTS
@pytest.mark.parametrize("root", [0, 3])
def test_a_broadcast_crosses_the_links_from_the_root_once(
    machine: Any, places: Any, root: int
) -> None:
    grid = machine(places)
    grid.run(lambda layout, port: bcast(layout, port, room(100), root))
    home = places[root][0]
    from_home = {pair: 100 for pair in pairs(places) if pair[0] == home}
    assert grid.wan_bytes == from_home
    assert grid.wan_messages == dict.fromkeys(from_home, 1)
    assert set(grid.lan_bytes.values()) <= {100}
    assert grid.now <= WAN + LAN


@LAYOUTS
def test_an_object_of_unknown_size_crosses_in_one_message_with_its_size(
    machine: Any, places: Any
) -> None:
    grid = machine(places)
    grid.run(
        lambda layout, port: bcast_blob(layout, port, b"x" * 100 if layout.me == 0 else None, 0)
    )
    assert grid.wan_bytes == {pair: 108 for pair in pairs(places) if pair[0] == places[0][0]}
    assert set(grid.wan_messages.values()) == {1}
    assert grid.now <= WAN + LAN


def test_a_large_broadcast_takes_one_crossing_and_not_one_for_each_level(machine: Any) -> None:
    size, bandwidth = 32 * SEGMENT, 1000.0
    grid = machine(SQUARE, bandwidth)
    grid.run(lambda layout, port: bcast(layout, port, room(size), 0))
    crossing = size / bandwidth
    assert grid.wan_bytes == {(0, 1): size}
    assert grid.now == pytest.approx(crossing + WAN + LAN, rel=0.001)


def test_a_large_allreduce_exchanges_while_it_reduces(machine: Any) -> None:
    size, bandwidth = 8 * SEGMENT, 1000.0
    grid = machine(SQUARE, bandwidth)
    grid.run(lambda layout, port: allreduce(layout, port, room(size), room(size), grain=8), keep)
    assert grid.wan_bytes == {(0, 1): size, (1, 0): size}
    assert grid.now == pytest.approx(size / bandwidth + WAN + 2 * LAN, rel=0.001)
    # the two clusters of a site share the work: each way half of the data
    assert set(grid.lan_bytes.values()) == {size}


@LAYOUTS
@pytest.mark.parametrize("root", [0, 3])
@pytest.mark.parametrize("size", [100, SMALL])
def test_gather_and_scatter_move_only_the_blocks_behind_a_link(
    machine: Any, places: Any, root: int, size: int
) -> None:
    home, n = places[root][0], len(places)
    for way in ("in", "out"):
        grid = machine(places)

        def run(layout: Any, port: Any, way: str = way) -> Any:
            blocks = Blocks.in_a_row([size] * n) if layout.me == root else None
            if way == "in":
                yield from gather(layout, port, room(size), blocks, root, size=size)
            else:
                yield from scatter(layout, port, blocks, room(size), root, size=size)

        grid.run(run)
        expected = {
            (a, b): size * ranks_in(places, a if way == "in" else b)
            for a, b in pairs(places)
            if (b if way == "in" else a) == home
        }
        assert grid.wan_bytes == expected
        if size < SMALL:
            clusters = {place for place in places if place[0] != home}
            assert sum(grid.wan_messages.values()) == len(clusters)
        assert grid.now <= WAN + LAN


@LAYOUTS
def test_an_allgather_brings_every_block_to_every_site_once(machine: Any, places: Any) -> None:
    grid = machine(places)
    n = len(places)
    grid.run(lambda layout, port: allgather(layout, port, room(10), Blocks.in_a_row([10] * n)))
    assert grid.wan_bytes == {(a, b): 10 * ranks_in(places, a) for a, b in pairs(places)}
    assert grid.wan_messages == {
        (a, b): len({place for place in places if place[0] == a}) for a, b in pairs(places)
    }
    assert grid.now <= WAN + LAN


@LAYOUTS
@pytest.mark.parametrize("size", [10, SMALL])
def test_an_alltoall_moves_every_block_over_its_link_once(
    machine: Any, places: Any, size: int
) -> None:
    grid = machine(places)
    n = len(places)

    def run(layout: Any, port: Any) -> Any:
        out, into = Blocks.in_a_row([size] * n), Blocks.in_a_row([size] * n)
        yield from alltoall(layout, port, out, into, size)

    grid.run(run)
    assert grid.wan_bytes == {
        (a, b): size * ranks_in(places, a) * ranks_in(places, b) for a, b in pairs(places)
    }
    if size < SMALL:  # one bundle between any two clusters
        clusters = set(places)
        apart = [1 for a in clusters for b in clusters if a[0] != b[0]]
        assert sum(grid.wan_messages.values()) == len(apart)
    assert grid.now == WAN


@LAYOUTS
@pytest.mark.parametrize("far", [False, True])
def test_large_blocks_of_an_alltoall_take_turns_where_a_line_would_hold_no_more(
    machine: Any, places: Any, far: bool
) -> None:
    n, bandwidth, piece = len(places), 10.0, SMALL // 2
    holds = 2 * n * piece
    grid = machine(places, bandwidth)
    grid.holds = holds
    grid.round_trip = far * turns.FAR

    def run(layout: Any, port: Any) -> Any:
        out, into = Blocks.in_a_row([SMALL] * n), Blocks.in_a_row([SMALL] * n)
        yield from alltoall(layout, port, out, into, SMALL, piece=piece)

    grid.run(run)
    most = max(grid.most_under_way[pair] for pair in pairs(places))
    all_of_it = max(ranks_in(places, a) * ranks_in(places, b) for a, b in pairs(places)) * SMALL
    assert holds // 2 < most <= holds if far else most == all_of_it
    assert grid.now < 1.2 * all_of_it / bandwidth + WAN  # the line is never idle for long


@LAYOUTS
@pytest.mark.parametrize("way", ["in", "out"])
def test_large_blocks_to_and_from_a_root_take_turns_where_a_line_would_hold_no_more(
    machine: Any, places: Any, way: str
) -> None:
    n, bandwidth, piece = len(places), 10.0, SMALL // 4
    holds = 2 * n * piece
    grid = machine(places, bandwidth)
    grid.holds = holds
    grid.round_trip = turns.FAR
    size = 4 * SMALL

    def run(layout: Any, port: Any) -> Any:
        blocks = Blocks.in_a_row([size] * n) if layout.me == 0 else None
        if way == "in":
            yield from gather(layout, port, room(size), blocks, 0, size=size, piece=piece)
        else:
            yield from scatter(layout, port, blocks, room(size), 0, size=size, piece=piece)

    grid.run(run)
    all_of_it = {
        pair: size * ranks_in(places, pair[way == "out"])
        for pair in pairs(places)
        if pair[way == "in"] == places[0][0]
    }
    assert grid.wan_bytes == all_of_it
    assert all(holds // 2 < grid.most_under_way[pair] <= holds for pair in all_of_it)
    assert grid.now < 1.2 * max(all_of_it.values()) / bandwidth + WAN


@LAYOUTS
def test_reduce_and_allreduce_cross_each_link_once(machine: Any, places: Any) -> None:
    grid = machine(places)
    grid.run(
        lambda layout, port: reduce(
            layout, port, room(64), room(64) if layout.me == 0 else None, 0, grain=8
        ),
        keep,
    )
    assert grid.wan_bytes == {(a, b): 64 for a, b in pairs(places) if b == places[0][0]}
    assert grid.now <= WAN + LAN
    grid = machine(places)
    grid.run(lambda layout, port: allreduce(layout, port, room(64), room(64), grain=8), keep)
    assert grid.wan_bytes == dict.fromkeys(pairs(places), 64)
    assert grid.wan_messages == dict.fromkeys(pairs(places), 1)
    assert set(grid.lan_messages.values()) <= {1}
    assert grid.now <= WAN + 2 * LAN


def test_a_spread_allreduce_over_three_sites_spends_a_latency_to_save_bytes(machine: Any) -> None:
    places, size = [(0, 0), (1, 0), (2, 0)], 6 * SEGMENT
    grid = machine(places)
    grid.run(
        lambda layout, port: allreduce(
            layout, port, room(size), room(size), grain=8, is_spread=True
        ),
        keep,
    )
    assert grid.wan_bytes == dict.fromkeys(pairs(places), 2 * size // 3)
    assert grid.now == 2 * WAN


@LAYOUTS
def test_reduce_scatter_brings_to_a_site_what_its_members_get(machine: Any, places: Any) -> None:
    grid = machine(places)
    sizes = [8] * len(places)
    grid.run(
        lambda layout, port: reduce_scatter(layout, port, Blocks.in_a_row(sizes), room(8), grain=8),
        keep,
    )
    assert grid.wan_bytes == {(a, b): 8 * ranks_in(places, b) for a, b in pairs(places)}
    assert grid.now <= WAN + LAN


@pytest.mark.parametrize("places", [SQUARE, UNEQUAL])
def test_where_ranks_lie_in_order_one_value_and_its_size_cross(machine: Any, places: Any) -> None:
    value = b"x" * 32
    forward = {(a, b): 40 for a, b in pairs(places) if a < b}
    grid = machine(places)
    grid.run(lambda layout, port: scan_ordered(layout, port, value, join))
    assert grid.wan_bytes == forward
    assert grid.now <= WAN + 2 * LAN
    grid = machine(places)
    grid.run(lambda layout, port: allreduce_ordered(layout, port, value, join))
    assert grid.wan_bytes == dict.fromkeys(pairs(places), 40)
    assert grid.now <= WAN + 2 * LAN
    grid = machine(places)
    grid.run(lambda layout, port: reduce_ordered(layout, port, value, join, 0))
    assert grid.wan_bytes == {(a, b): 40 for a, b in pairs(places) if b == 0}


def test_an_ordered_reduction_of_ranks_dealt_in_turn_sends_one_value_for_each_run(
    machine: Any,
) -> None:
    grid = machine(CYCLIC)
    grid.run(lambda layout, port: allreduce_ordered(layout, port, b"x" * 32, join))
    assert grid.wan_bytes == dict.fromkeys(pairs(CYCLIC), 3 * 40)
    assert set(grid.wan_messages.values()) == {1}
    assert grid.now == WAN


def test_clusters_of_a_single_site_exchange_directly(machine: Any) -> None:
    grid = machine([(0, 0), (0, 0), (0, 1), (0, 2)])
    grid.run(lambda layout, port: allreduce(layout, port, room(8), room(8), grain=8), keep)
    assert set(grid.lan_bytes.values()) == {8}
    assert len(grid.lan_bytes) == 6
    assert grid.now == WAN  # the machine counts this latency for a site alone: it is crossed once


@LAYOUTS
def test_members_of_one_cluster_send_no_messages_to_each_other(machine: Any, places: Any) -> None:
    grid = machine([(0, 0)] * len(places))
    grid.run(barrier)
    grid.run(lambda layout, port: bcast(layout, port, room(10), 0))
    grid.run(lambda layout, port: allreduce(layout, port, room(8), room(8), grain=8), keep)
    assert not grid.lan_messages
    assert not grid.wan_messages
