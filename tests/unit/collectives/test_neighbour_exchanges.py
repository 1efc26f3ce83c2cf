"""Exchanges with neighbours, also where two members are neighbours more than once."""

from __future__ import annotations

from typing import Any

from runtime.collectives.neighbours import exchange, exchange_blobs, mirrored


def test_what_is_sent_down_in_a_ring_of_two_arrives_from_above(machine: Any) -> None:
    def run(layout: Any, port: Any) -> Any:
        other = 1 - layout.me
        sent = [memoryview(bytes([layout.me, slot])) for slot in range(2)]
        rooms = [memoryview(bytearray(2)) for _ in range(2)]
        incoming = [(other, rooms[slot]) for slot in mirrored(2)]
        yield from exchange(port, [(other, block) for block in sent], incoming)
        return [tuple(room) for room in rooms]

    assert machine([(0, 0), (1, 0)]).run(run) == [[(1, 1), (1, 0)], [(0, 1), (0, 0)]]


def test_objects_of_any_size_go_to_each_neighbour(machine: Any) -> None:
    places = [(0, 0), (0, 0), (1, 0)]

    def run(layout: Any, port: Any) -> Any:
        after, before = (layout.me + 1) % 3, (layout.me - 1) % 3
        found = yield from exchange_blobs(port, [(after, b"x" * layout.me)], [before])
        return [len(one) for one in found]

    grid = machine(places)
    assert grid.run(run) == [[2], [0], [1]]
    assert grid.wan_messages == {(0, 1): 1, (1, 0): 1}
    assert grid.wan_bytes == {(0, 1): 1, (1, 0): 2}


def test_a_member_without_neighbours_waits_for_nobody(machine: Any) -> None:
    def run(layout: Any, port: Any) -> Any:
        yield from exchange(port, [], [])
        return (yield from exchange_blobs(port, [], []))

    assert machine([(0, 0), (1, 0)]).run(run) == [[], []]
