"""Collectives between two groups, on any layout and any choice of the groups, against a model."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.collectives.between import (
    Sides,
    allgather_between,
    allreduce_between,
    barrier_between,
    bcast_between,
    bcast_blob_between,
    gather_between,
    gather_blobs_between,
    reduce_between,
    reduce_scatter_between,
    scatter_between,
    scatter_blobs_between,
)
from runtime.collectives.blocks import Blocks

MEMBERS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.booleans()), min_size=2, max_size=8
).filter(lambda members: len({first for *_, first in members}) == 2)
quick = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def joined(blobs: Any) -> bytes:
    """Concatenate: associative, not commutative."""
    return b"".join(blobs)


class Groups:
    """Who is in which group; the first one has the root of the operations with a root."""

    def __init__(self, members: Any) -> None:
        self.places = [(site, cluster) for site, cluster, _ in members]
        self.first = [rank for rank, (*_, first) in enumerate(members) if first]
        self.second = [rank for rank, (*_, first) in enumerate(members) if not first]

    def sides(self, layout: Any) -> Sides:
        mine = layout.me in self.first
        groups = (self.first, self.second) if mine else (self.second, self.first)
        return Sides(layout, *groups)

    def others(self, rank: int) -> list[int]:
        return self.second if rank in self.first else self.first


def name(rank: int) -> bytes:
    return bytes([rank]) * (rank + 1)


@quick
@given(members=MEMBERS)
def test_nobody_leaves_before_both_groups_came(machine: Any, members: Any) -> None:
    groups, came = Groups(members), []

    def run(layout: Any, port: Any) -> Any:
        came.append(layout.me)
        yield from barrier_between(groups.sides(layout), port)
        return len(came)

    assert machine(groups.places).run(run) == [len(members)] * len(members)


@quick
@given(members=MEMBERS, data=st.data())
def test_a_root_gives_to_the_other_group_and_takes_from_it(
    machine: Any, members: Any, data: Any
) -> None:
    groups = Groups(members)
    position = data.draw(st.integers(0, len(groups.first) - 1))
    root = groups.first[position]
    sizes = [rank + 1 for rank in groups.second]

    def run(layout: Any, port: Any) -> Any:
        me, sides = layout.me, groups.sides(layout)
        if me in groups.first and me != root:
            return None
        there = None if me == root else position
        block = memoryview(bytearray(name(root) if me == root else len(name(root))))
        yield from bcast_between(sides, port, block, there)
        blob = name(root) if me == root else None
        whole = yield from bcast_blob_between(sides, port, blob, there)
        mine = memoryview(bytearray(b"" if me == root else name(me)))
        into = Blocks.in_a_row(sizes) if me == root else None
        yield from gather_between(sides, port, mine, into, there)
        back = memoryview(bytearray(len(mine)))
        yield from scatter_between(sides, port, into, back, there)
        found = yield from gather_blobs_between(sides, port, mine, there)
        returned = yield from scatter_blobs_between(sides, port, found, there)
        if me == root:
            assert into is not None
            assert found is not None
            return [bytes(into[n]) for n in range(len(sizes))], [bytes(one) for one in found]
        return bytes(block), bytes(whole), bytes(back), bytes(returned)

    theirs = [name(rank) for rank in groups.second]
    for rank, result in enumerate(machine(groups.places).run(run)):
        if rank == root:
            assert result == (theirs, theirs)
        elif rank in groups.second:
            assert result == (name(root), name(root), name(rank), name(rank))


@quick
@given(members=MEMBERS)
def test_each_group_gets_what_the_other_one_has(machine: Any, members: Any) -> None:
    groups = Groups(members)

    def run(layout: Any, port: Any) -> Any:
        sides = groups.sides(layout)
        found = yield from allgather_between(sides, port, name(layout.me))
        folded = yield from allreduce_between(sides, port, name(layout.me), joined)
        return [bytes(one) for one in found], bytes(folded)

    for rank, result in enumerate(machine(groups.places).run(run)):
        theirs = [name(other) for other in groups.others(rank)]
        assert result == (theirs, joined(theirs))


@quick
@given(members=MEMBERS, data=st.data())
def test_the_values_of_a_group_are_folded_for_a_root_in_the_other(
    machine: Any, members: Any, data: Any
) -> None:
    groups = Groups(members)
    position = data.draw(st.integers(0, len(groups.first) - 1))
    root = groups.first[position]

    def run(layout: Any, port: Any) -> Any:
        me = layout.me
        if me in groups.first and me != root:
            return None
        there = None if me == root else position
        found = yield from reduce_between(groups.sides(layout), port, name(me), joined, there)
        return None if found is None else bytes(found)

    results = machine(groups.places).run(run)
    assert results.pop(root) == joined([name(rank) for rank in groups.second])
    assert set(results) == {None} or not results


@quick
@given(members=MEMBERS, data=st.data())
def test_each_group_shares_out_the_fold_of_the_other(machine: Any, members: Any, data: Any) -> None:
    groups = Groups(members)
    total = 12

    def shares(group: list[int]) -> list[int]:
        return [total // len(group) + (which < total % len(group)) for which in range(len(group))]

    def last(blobs: Any) -> bytes:
        return bytes(blobs[-1])

    def run(layout: Any, port: Any) -> Any:
        mine = groups.first if layout.me in groups.first else groups.second
        sizes = shares(mine)
        result = memoryview(bytearray(sizes[mine.index(layout.me)]))
        value = bytes(range(layout.me, layout.me + total))
        sides = groups.sides(layout)
        yield from reduce_scatter_between(sides, port, value, last, sizes=sizes, mine=result)
        return bytes(result)

    results = machine(groups.places).run(run)
    for group, others in ((groups.first, groups.second), (groups.second, groups.first)):
        whole = b"".join(results[rank] for rank in group)
        assert whole == bytes(range(others[-1], others[-1] + total))
