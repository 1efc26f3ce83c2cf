"""Every algorithm on random layouts against a plain model of what it has to bring about."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.collectives import turns
from runtime.collectives.allgathering import allgather
from runtime.collectives.barrier import barrier
from runtime.collectives.blocks import SMALL, Blocks
from runtime.collectives.broadcast import bcast, bcast_blob
from runtime.collectives.choice import SURVIVING
from runtime.collectives.exchanging import alltoall
from runtime.collectives.gathering import gather, scatter
from runtime.collectives.parcels import (
    allgather_blobs,
    alltoall_blobs,
    gather_blobs,
    scatter_blobs,
)
from runtime.collectives.ranks_only import (
    binomial_reduce,
    butterfly_allreduce,
    butterfly_barrier,
    four_ary_barrier,
    rotation_allgather,
    rotation_alltoall,
)
from runtime.collectives.reducing import allreduce, reduce, reduce_scatter
from runtime.collectives.runs import allreduce_ordered, reduce_ordered, scan_ordered

LAYOUTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=9)
ORDERED = LAYOUTS.map(sorted)
SIZES = st.sampled_from([0, 1, 5, 16, 40, SMALL - 1, SMALL, SMALL + 3])
PIECES = st.sampled_from([SMALL // 3, SMALL, 2 * SMALL])
quick = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def flat(algorithm: Any) -> Any:
    """Return an algorithm where each member is a cluster of its own."""

    def run(layout: Any, *arguments: Any, **named: Any) -> Any:
        return algorithm(layout.scattered, *arguments, **named)

    return run


def whole(algorithm: Any) -> Any:
    """Return an algorithm that cuts no data and needs no hints, called like one that does."""
    return lambda *arguments, **_: algorithm(*arguments)


WHEEL = bytes(range(251))


def pattern(size: int, *seed: int) -> bytearray:
    """Return bytes that differ for different seeds."""
    start = sum(s * 7**k for k, s in enumerate(seed)) % 251
    return bytearray((WHEEL * (size // 251 + 2))[start : start + size])


def add(left: memoryview, right: memoryview) -> None:
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        right[i] = (a + b) % 256


def follow(left: memoryview, right: memoryview) -> None:
    """Compose affine maps modulo 251: associative, not commutative."""
    for i in range(0, len(left), 2):
        a, b, c, d = left[i], left[i + 1], right[i], right[i + 1]
        right[i], right[i + 1] = a * c % 251, (b * c + d) % 251


def folded(values: list[bytearray], operation: Any) -> bytes:
    left = memoryview(bytearray(values[0]))
    for value in values[1:]:
        right = memoryview(bytearray(value))
        operation(left, right)
        left = right
    return bytes(left)


def merge(blobs: Any) -> bytes:
    return folded(blobs, follow)


@pytest.mark.parametrize("algorithm", [barrier, flat(barrier), four_ary_barrier, butterfly_barrier])
@quick
@given(places=LAYOUTS)
def test_nobody_leaves_a_barrier_before_everybody_came(
    machine: Any, algorithm: Any, places: Any
) -> None:
    grid = machine(places)
    came: list[int] = []

    def enter(layout: Any, port: Any) -> Any:
        came.append(layout.me)
        yield from algorithm(layout, port)
        return len(came)

    assert grid.run(enter) == [len(places)] * len(places)


@quick
@given(places=LAYOUTS, data=st.data())
def test_a_broadcast_brings_the_data_of_the_root_to_all(
    machine: Any, places: Any, data: Any
) -> None:
    root = data.draw(st.integers(0, len(places) - 1))
    size = data.draw(st.integers(0, 50))

    def run(layout: Any, port: Any) -> Any:
        mine = memoryview(pattern(size, layout.me))
        yield from bcast(layout, port, mine, root, segment=16)
        return bytes(mine)

    assert machine(places).run(run) == [bytes(pattern(size, root))] * len(places)


@pytest.mark.parametrize("size", [10, 50])
@pytest.mark.parametrize("count", range(2, 10))
def test_a_broadcast_reaches_all_that_live_whoever_but_the_root_is_lost(
    machine: Any, count: int, size: int
) -> None:
    for sites, root, lost, step, is_blob in itertools.product(
        (2, 3), (0, count - 1), range(count), (1, 2, 3, 5), (False, True)
    ):
        if lost == root:
            continue
        grid = machine([(rank * sites // count, rank) for rank in range(count)])
        grid.loses = lost, step

        def run(layout: Any, port: Any, root: int = root, is_blob: bool = is_blob) -> Any:
            mine = memoryview(pattern(size, layout.me))
            if is_blob:
                blob = mine if layout.me == root else None
                found = bcast_blob(layout, port, blob, root, segment=16, plan=SURVIVING)
                return bytes((yield from found))
            yield from bcast(layout, port, mine, root, segment=16, plan=SURVIVING)
            return bytes(mine)

        results = grid.run(run)
        told = {bytes(one) for rank, one in enumerate(results) if one is not None}
        assert told == {bytes(pattern(size, root))}
        assert [rank for rank, one in enumerate(results) if one is None] == sorted(grid.lost)


@quick
@given(places=LAYOUTS, data=st.data())
def test_a_blob_of_unknown_size_reaches_all(machine: Any, places: Any, data: Any) -> None:
    root = data.draw(st.integers(0, len(places) - 1))
    size = data.draw(st.integers(0, 50))

    def run(layout: Any, port: Any) -> Any:
        mine = pattern(size, root) if layout.me == root else None
        return bytes((yield from bcast_blob(layout, port, mine, root, segment=16)))

    assert machine(places).run(run) == [bytes(pattern(size, root))] * len(places)


@quick
@given(places=LAYOUTS, data=st.data(), far=st.booleans(), piece=PIECES)
def test_gather_brings_blocks_of_any_size_to_their_places(
    machine: Any, places: Any, data: Any, far: bool, piece: int
) -> None:
    n = len(places)
    root = data.draw(st.integers(0, n - 1))
    sizes = data.draw(st.lists(SIZES, min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))
    in_place, gap = data.draw(st.booleans()), data.draw(st.booleans())

    def run(layout: Any, port: Any) -> Any:
        mine: Any = memoryview(pattern(sizes[layout.me], layout.me))
        into = scattered(sizes, order, int(gap))
        if layout.me == root and in_place:
            into[root][:] = mine
            mine = None
        there = into if layout.me == root else None
        yield from gather(layout, port, mine, there, root, piece=piece)
        return [bytes(into[rank]) for rank in range(n)] if layout.me == root else None

    expected = [bytes(pattern(size, rank)) for rank, size in enumerate(sizes)]
    with holding_next_to_nothing(machine(places), far) as grid:
        assert grid.run(run)[root] == expected


@contextmanager
def holding_next_to_nothing(grid: Any, far: bool) -> Iterator[Any]:
    """Let blocks take turns on all lines, if they are far."""
    grid.round_trip = float(far)
    with patch.multiple(turns, UNDER_WAY=1, IN_TIME=-1.0):
        yield grid


def scattered(sizes: list[int], order: list[int], gap: int) -> Blocks:
    """Lay blocks in some order with gaps between them."""
    offsets, at = [0] * len(sizes), 0
    for rank in order:
        offsets[rank] = at
        at += sizes[rank] + gap
    return Blocks(memoryview(bytearray(at)), offsets, sizes)


@pytest.mark.parametrize("algorithm", [lambda one: one, flat])
@quick
@given(places=LAYOUTS, data=st.data(), size=SIZES)
def test_gather_and_scatter_of_equal_blocks_are_inverse(
    machine: Any, algorithm: Any, places: Any, data: Any, size: int
) -> None:
    n = len(places)
    root = data.draw(st.integers(0, n - 1))

    def run(layout: Any, port: Any) -> Any:
        mine = memoryview(pattern(size, layout.me))
        blocks = Blocks.in_a_row([size] * n) if layout.me == root else None
        yield from algorithm(gather)(layout, port, mine, blocks, root, size=size)
        back = memoryview(bytearray(size))
        yield from algorithm(scatter)(layout, port, blocks, back, root, size=size)
        return bytes(back) == bytes(mine)

    assert machine(places).run(run) == [True] * n


@quick
@given(places=LAYOUTS, data=st.data(), far=st.booleans(), piece=PIECES)
def test_scatter_brings_blocks_of_any_size_to_their_owners(
    machine: Any, places: Any, data: Any, far: bool, piece: int
) -> None:
    n = len(places)
    root = data.draw(st.integers(0, n - 1))
    sizes, in_place = data.draw(st.lists(SIZES, min_size=n, max_size=n)), data.draw(st.booleans())

    def run(layout: Any, port: Any) -> Any:
        blocks = scattered(sizes, list(range(n)), 1)
        for rank in range(n):
            blocks[rank][:] = pattern(sizes[rank], rank)
        mine: Any = memoryview(bytearray(sizes[layout.me]))
        if layout.me == root and in_place:
            yield from scatter(layout, port, blocks, None, root, piece=piece)
            return bytes(blocks[root])
        there = blocks if layout.me == root else None
        yield from scatter(layout, port, there, mine, root, piece=piece)
        return bytes(mine)

    expected = [bytes(pattern(size, rank)) for rank, size in enumerate(sizes)]
    with holding_next_to_nothing(machine(places), far) as grid:
        assert grid.run(run) == expected


@pytest.mark.parametrize("algorithm", [allgather, whole(rotation_allgather)])
@quick
@given(places=LAYOUTS, data=st.data(), in_place=st.booleans(), gap=st.integers(0, 1))
def test_allgather_brings_all_blocks_to_all(
    machine: Any, *, algorithm: Any, places: Any, data: Any, in_place: bool, gap: int
) -> None:
    n = len(places)
    sizes = data.draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))

    def run(layout: Any, port: Any) -> Any:
        into = scattered(sizes, order, gap)
        mine: Any = memoryview(pattern(sizes[layout.me], layout.me))
        if in_place:
            into[layout.me][:] = mine
            mine = None
        yield from algorithm(layout, port, mine, into, segment=16)
        return [bytes(into[rank]) for rank in range(n)]

    expected = [bytes(pattern(size, rank)) for rank, size in enumerate(sizes)]
    assert machine(places).run(run) == [expected] * n


@pytest.mark.parametrize("algorithm", [alltoall, whole(rotation_alltoall)])
@quick
@given(places=LAYOUTS, data=st.data(), far=st.booleans(), piece=PIECES)
def test_alltoall_brings_every_block_to_its_receiver(
    machine: Any, *, algorithm: Any, places: Any, data: Any, far: bool, piece: int
) -> None:
    n = len(places)
    one, same = data.draw(SIZES), data.draw(st.booleans())
    drawn = data.draw(st.lists(st.lists(SIZES, min_size=n, max_size=n), min_size=n, max_size=n))
    sizes = [[one] * n] * n if same else drawn

    def run(layout: Any, port: Any) -> Any:
        me = layout.me
        outgoing = scattered(sizes[me], list(range(n))[::-1], 1)
        for rank in range(n):
            outgoing[rank][:] = pattern(sizes[me][rank], me, rank)
        incoming = scattered([sizes[rank][me] for rank in range(n)], list(range(n)), 1)
        equal = one if same else None
        yield from algorithm(layout, port, outgoing, incoming, size=equal, piece=piece)
        return [bytes(incoming[rank]) for rank in range(n)]

    expected = [
        [bytes(pattern(sizes[source][me], source, me)) for source in range(n)] for me in range(n)
    ]
    with holding_next_to_nothing(machine(places), far) as grid:
        assert grid.run(run) == expected


@pytest.mark.parametrize("algorithm", [reduce, flat(reduce), whole(binomial_reduce)])
@quick
@given(places=LAYOUTS, data=st.data(), in_place=st.booleans())
def test_reduce_folds_the_values_of_all(
    machine: Any, algorithm: Any, places: Any, data: Any, in_place: bool
) -> None:
    n = len(places)
    root = data.draw(st.integers(0, n - 1))
    size = 2 * data.draw(st.integers(0, 20))

    def run(layout: Any, port: Any) -> Any:
        mine = memoryview(pattern(size, layout.me))
        result = mine if in_place else memoryview(bytearray(size))
        into = result if layout.me == root else None
        yield from algorithm(layout, port, mine, into, root, grain=2, segment=8)
        if layout.me != root:
            assert bytes(mine) == bytes(pattern(size, layout.me))
        return bytes(result)

    expected = folded([pattern(size, rank) for rank in range(n)], add)
    assert machine(places).run(run, add)[root] == expected


@quick
@given(
    places=LAYOUTS,
    pairs=st.integers(0, 20),
    in_place=st.booleans(),
    is_spread=st.booleans(),
)
def test_allreduce_gives_the_fold_of_all_to_all(
    machine: Any, places: Any, pairs: int, in_place: bool, is_spread: bool
) -> None:
    n, size = len(places), 2 * pairs

    def run(layout: Any, port: Any) -> Any:
        mine = memoryview(pattern(size, layout.me))
        result = mine if in_place else memoryview(bytearray(size))
        yield from allreduce(layout, port, mine, result, grain=2, segment=8, is_spread=is_spread)
        assert in_place or bytes(mine) == bytes(pattern(size, layout.me))
        return bytes(result)

    expected = folded([pattern(size, rank) for rank in range(n)], add)
    assert machine(places).run(run, add) == [expected] * n


RANKS_ALONE = {
    "flat": (flat(reduce), flat(allreduce)),
    "rounds": (whole(binomial_reduce), whole(butterfly_allreduce)),
}


@pytest.mark.parametrize("plan", RANKS_ALONE)
@quick
@given(places=LAYOUTS, data=st.data(), in_place=st.booleans())
def test_reductions_that_know_ranks_alone_keep_their_order_on_any_layout(
    machine: Any, plan: str, places: Any, data: Any, in_place: bool
) -> None:
    n, size = len(places), 12
    root = data.draw(st.integers(0, n - 1))
    to_one, to_all = RANKS_ALONE[plan]

    def run(layout: Any, port: Any) -> Any:
        mine = memoryview(pattern(size, layout.me))
        single = memoryview(bytearray(size)) if layout.me == root else None
        yield from to_one(layout, port, mine, single, root, grain=2, segment=4)
        result = mine if in_place else memoryview(bytearray(size))
        yield from to_all(layout, port, mine, result, grain=2, segment=4)
        return bytes(result), None if single is None else bytes(single)

    expected = folded([pattern(size, rank) for rank in range(n)], follow)
    assert machine(places).run(run, follow) == [
        (expected, expected if rank == root else None) for rank in range(n)
    ]


@quick
@given(places=ORDERED, data=st.data(), is_spread=st.booleans())
def test_where_ranks_lie_in_order_reductions_keep_it(
    machine: Any, places: Any, data: Any, is_spread: bool
) -> None:
    n, size = len(places), 12
    root = data.draw(st.integers(0, n - 1))

    def run(layout: Any, port: Any) -> Any:
        assert layout.in_order
        mine = memoryview(pattern(size, layout.me))
        result, single = memoryview(bytearray(size)), memoryview(bytearray(size))
        yield from allreduce(layout, port, mine, result, grain=2, segment=4, is_spread=is_spread)
        into = single if layout.me == root else None
        yield from reduce(layout, port, mine, into, root, grain=2, segment=4)
        return bytes(result), bytes(single) if layout.me == root else None

    expected = folded([pattern(size, rank) for rank in range(n)], follow)
    assert machine(places).run(run, follow) == [
        (expected, expected if rank == root else None) for rank in range(n)
    ]


@quick
@given(places=LAYOUTS, data=st.data())
def test_reduce_scatter_gives_everybody_its_block_of_the_fold(
    machine: Any, places: Any, data: Any
) -> None:
    n = len(places)
    sizes = [2 * s for s in data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))]

    def run(layout: Any, port: Any) -> Any:
        blocks = Blocks.in_a_row(sizes)
        blocks.memory[:] = pattern(sum(sizes), layout.me)
        result = memoryview(bytearray(sizes[layout.me]))
        yield from reduce_scatter(layout, port, blocks, result, grain=2, segment=8)
        return bytes(result)

    whole = memoryview(folded([pattern(sum(sizes), rank) for rank in range(n)], add))
    assert machine(places).run(run, add) == [
        bytes(Blocks.in_a_row(sizes, whole)[rank]) for rank in range(n)
    ]


@quick
@given(places=LAYOUTS, data=st.data())
def test_ordered_reductions_and_scans_keep_rank_order_on_any_layout(
    machine: Any, places: Any, data: Any
) -> None:
    n = len(places)
    root = data.draw(st.integers(0, n - 1))

    def run(layout: Any, port: Any) -> Any:
        mine = pattern(6, layout.me)
        one = yield from reduce_ordered(layout, port, mine, merge, root)
        everywhere = yield from allreduce_ordered(layout, port, mine, merge)
        upto = yield from scan_ordered(layout, port, mine, merge)
        before = yield from scan_ordered(layout, port, mine, merge, exclusive=True)
        return [None if x is None else bytes(x) for x in (one, everywhere, upto, before)]

    values = [pattern(6, rank) for rank in range(n)]
    total = merge(values)
    assert machine(places).run(run) == [
        [
            total if rank == root else None,
            total,
            merge(values[: rank + 1]),
            merge(values[:rank]) if rank else None,
        ]
        for rank in range(n)
    ]


@quick
@given(places=LAYOUTS, data=st.data())
def test_blobs_of_any_size_are_gathered_scattered_and_exchanged(
    machine: Any, places: Any, data: Any
) -> None:
    n = len(places)
    root = data.draw(st.integers(0, n - 1))
    sizes = data.draw(st.lists(st.integers(0, 30), min_size=n, max_size=n))

    def run(layout: Any, port: Any) -> Any:
        me = layout.me
        mine = bytes(pattern(sizes[me], me))
        found = yield from gather_blobs(layout, port, mine, root)
        back = yield from scatter_blobs(layout, port, found, root)
        everything = yield from allgather_blobs(layout, port, mine)
        for_all = [bytes(pattern(sizes[rank], me, rank)) for rank in range(n)]
        crossed = yield from alltoall_blobs(layout, port, for_all)
        assert (found is None) == (me != root)
        return bytes(back), [bytes(b) for b in everything], [bytes(b) for b in crossed]

    blobs = [bytes(pattern(sizes[rank], rank)) for rank in range(n)]
    assert machine(places).run(run) == [
        (blobs[me], blobs, [bytes(pattern(sizes[me], rank, me)) for rank in range(n)])
        for me in range(n)
    ]
