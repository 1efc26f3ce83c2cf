"""Little data through a tree: what crosses which link, and that everybody gets the same."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator
from contextlib import suppress
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.collectives.brief import (
    MemberTree,
    Talk,
    collected,
    collected_at,
    collected_blobs,
    combined,
    converged,
    exchanged,
    exchanged_blobs,
    met,
    spread,
    spread_by_root,
)
from runtime.collectives.layout import Layout
from runtime.errors import GridError

SQUARE = [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1)]
UNEQUAL = [(0, 0), (1, 0), (1, 0), (2, 0), (2, 0), (2, 1)]
CYCLIC = [(rank % 2, 0) for rank in range(6)]
MANY = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
LAYOUTS = pytest.mark.parametrize("places", [SQUARE, UNEQUAL, CYCLIC])
WAN, LAN = 1000.0, 10.0

Begin = Callable[[MemberTree, Any], Talk]


def talking(
    begin: Begin, tree_of: Callable[[Layout], MemberTree] = MemberTree
) -> Callable[[Layout, Any], Generator[Any, None, bytes]]:
    """Return a talk as an algorithm of the machine, whose messages have no known size."""

    def algorithm(layout: Layout, port: Any) -> Generator[Any, None, bytes]:
        sent: list[Any] = []
        talk = begin(tree_of(layout), lambda rank, data: sent.append(port.send(rank, data)))
        try:
            wanted = next(talk)
            while True:
                heard = [port.expect(rank) for rank in wanted]
                yield heard
                wanted = talk.send([bytes(one.data) for one in heard])
        except StopIteration as end:
            with suppress(GridError):  # of a member that is lost
                yield sent
            return bytes(end.value)

    return algorithm


def level(layout: Layout) -> MemberTree:
    return MemberTree(layout).level


TREES = pytest.mark.parametrize("tree_of", [MemberTree, level])


def named(tree: MemberTree) -> bytes:
    return f"{tree.layout.me} ".encode()


def pairs(places: Any) -> set[tuple[int, int]]:
    sites = {site for site, _ in places}
    return {(a, b) for a in sites for b in sites if a != b}


@pytest.mark.parametrize("places", [CYCLIC, MANY])
def test_a_barrier_of_two_or_many_clusters_sends_one_empty_message_each_way_between_two_sites(
    machine: Any, places: Any
) -> None:
    grid = machine(places)
    grid.run(talking(met))
    assert grid.wan_messages == dict.fromkeys(pairs(places), 1)
    assert sum(grid.wan_bytes.values()) == 0
    assert all(count == 1 for count in grid.lan_messages.values())
    assert grid.now <= WAN + 2 * LAN


@LAYOUTS
def test_little_data_of_few_clusters_waits_for_one_crossing_alone(
    machine: Any, places: Any
) -> None:
    last = len(places) - 1
    talks: list[Begin] = [
        met,
        lambda tree, say: combined(tree.level, say, b"12345678", itemgetter(0)),
        lambda tree, say: spread(tree.level, say, b"12345678", last),
        lambda tree, say: converged(tree.level, say, b"12345678", itemgetter(0), last),
    ]
    for talk in talks:
        grid = machine(places)
        grid.run(talking(talk))
        assert all(count == 1 for count in grid.lan_messages.values())
        assert grid.now <= WAN


def test_little_data_is_sent_to_far_clusters_first() -> None:
    assert level(Layout(SQUARE, me=0)).spread_from(0) == (-1, [4, 6, 2, 1])
    assert level(Layout(SQUARE, me=7)).spread_from(7) == (-1, [0, 2, 4, 6])


@LAYOUTS
def test_a_fold_crosses_each_link_between_two_sites_once_each_way(
    machine: Any, places: Any
) -> None:
    grid = machine(places)
    results = grid.run(talking(lambda tree, say: combined(tree, say, b"12345678", itemgetter(0))))
    assert results == [b"12345678"] * len(places)
    assert grid.wan_bytes == dict.fromkeys(pairs(places), 8)
    assert all(count == 1 for count in grid.lan_messages.values())
    assert grid.now <= WAN + 2 * LAN


@LAYOUTS
@pytest.mark.parametrize("root", [0, 3])
def test_data_of_one_crosses_the_links_from_its_site_once(
    machine: Any, places: Any, root: int
) -> None:
    grid = machine(places)
    results = grid.run(talking(lambda tree, say: spread(tree, say, named(tree), root)))
    assert results == [f"{root} ".encode()] * len(places)
    home = places[root][0]
    assert grid.wan_messages == {pair: 1 for pair in pairs(places) if pair[0] == home}
    assert grid.now <= WAN + LAN


@LAYOUTS
@pytest.mark.parametrize("lost", [0, 1, 2, 4, 5])
def test_data_without_relays_reaches_all_that_live(machine: Any, places: Any, lost: int) -> None:
    grid = machine(places)
    grid.loses = lost, 1
    results = grid.run(talking(lambda tree, say: spread_by_root(tree, say, named(tree), 3)))
    assert results == [None if rank == lost else b"3 " for rank in range(len(places))]


@LAYOUTS
@pytest.mark.parametrize("root", [0, 3])
def test_a_fold_for_one_crosses_the_links_to_its_site_once(
    machine: Any, places: Any, root: int
) -> None:
    grid = machine(places)
    results = grid.run(
        talking(lambda tree, say: converged(tree, say, b"12345678", itemgetter(0), root))
    )
    assert results == [b"12345678" if rank == root else b"" for rank in range(len(places))]
    home = places[root][0]
    assert grid.wan_bytes == {pair: 8 for pair in pairs(places) if pair[1] == home}
    assert all(count == 1 for count in grid.lan_messages.values())
    assert grid.now <= WAN + 2 * LAN


@TREES
@pytest.mark.parametrize("places", [SQUARE, UNEQUAL, [(0, 0)], [(0, 0), (0, 1), (0, 2)]])
def test_where_ranks_lie_in_order_they_are_folded_in_order(
    machine: Any, places: Any, tree_of: Any
) -> None:
    joined = talking(lambda tree, say: combined(tree, say, named(tree), b"".join), tree_of)
    everybody = "".join(f"{rank} " for rank in range(len(places))).encode()
    assert machine(places).run(joined) == [everybody] * len(places)


@TREES
@given(
    places=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12),
    data=st.data(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it only names a class
def test_everybody_gets_the_same_wherever_the_ranks_are(
    machine: Any, tree_of: Any, places: list[tuple[int, int]], data: Any
) -> None:
    joined = talking(lambda tree, say: combined(tree, say, named(tree), b"".join), tree_of)
    (result,) = set(machine(places).run(joined))
    assert sorted(map(int, result.split())) == list(range(len(places)))
    root = data.draw(st.integers(0, len(places) - 1))
    brought = machine(places).run(
        talking(lambda tree, say: converged(tree, say, named(tree), b"".join, root), tree_of)
    )
    assert sorted(map(int, brought[root].split())) == list(range(len(places)))
    given_out = talking(lambda tree, say: spread(tree, say, named(tree), root), tree_of)
    assert set(machine(places).run(given_out)) == {f"{root} ".encode()}


@TREES
@given(
    places=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12),
    size=st.integers(0, 3),
    data=st.data(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it only names a class
def test_data_of_each_is_joined_by_rank_wherever_the_ranks_are(
    machine: Any, tree_of: Any, places: list[tuple[int, int]], size: int, data: Any
) -> None:
    count = len(places)
    blocks = [[bytes([source, to, 9][:size]) for to in range(count)] for source in range(count)]

    def each(mine: Callable[[int], bytes], result: Callable[..., Any], *rest: Any) -> list[Any]:
        found: dict[int, Any] = {}

        def begin(tree: MemberTree, say: Any) -> Any:
            me = tree.layout.me
            found[me] = yield from result(tree, say, mine(me), *rest)
            return b""

        machine(places).run(talking(begin, tree_of))
        return [found[rank] for rank in range(count)]

    first = [row[0] for row in blocks]
    assert each(first.__getitem__, collected) == [first] * count
    received = each(lambda me: b"".join(blocks[me]), exchanged)
    assert received == [b"".join(row[to] for row in blocks) for to in range(count)]
    root = data.draw(st.integers(0, count - 1))
    found = each(first.__getitem__, collected_at, root)
    assert found[root] == dict(enumerate(first))


def test_an_exchange_sends_one_bundle_between_two_clusters_each_way(machine: Any) -> None:
    grid = machine(SQUARE)
    grid.run(talking(lambda tree, say: exchanged(tree, say, bytes(8 * 8))))
    assert grid.wan_bytes == dict.fromkeys(pairs(SQUARE), 4 * 4 * 8)
    assert grid.wan_messages == dict.fromkeys(pairs(SQUARE), 4)
    assert set(grid.lan_messages.values()) == {1}
    assert grid.now <= WAN + LAN


@pytest.mark.parametrize("most", [30, 7])
@pytest.mark.parametrize("begin", [collected_blobs, exchanged_blobs])
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    places=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=9),
    data=st.data(),
)
def test_blobs_of_any_size_come_to_all_or_all_know_that_some_are_large(
    machine: Any, begin: Any, most: int, places: Any, data: Any
) -> None:
    n = len(places)
    sizes = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))

    def blob(source: int, target: int) -> bytes:
        return bytes([source, target])[: sizes[source]] + bytes(max(sizes[source] - 2, 0))

    def run(tree: MemberTree, say: Any) -> Any:
        me = tree.layout.me
        mine = [blob(me, to) for to in range(n)] if begin is exchanged_blobs else blob(me, 0)
        found = yield from begin(tree, say, mine, most)
        return pickle.dumps(None if found is None else [*map(bytes, found)])

    results = [pickle.loads(one) for one in machine(places).run(talking(run))]
    if max(sizes) > most:
        assert results == [None] * n
    else:
        to = 0 if begin is collected_blobs else 1
        assert results == [[blob(of, to * me) for of in range(n)] for me in range(n)]
