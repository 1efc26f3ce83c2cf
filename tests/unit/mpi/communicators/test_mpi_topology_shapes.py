"""Coordinates, shifts, parts and neighbours of Cartesian shapes and graphs."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.mpi.communicators.shapes import (
    Adjacency,
    Cartesian,
    adjacency_of,
    checked_cartesian,
    checked_graph,
)
from runtime.mpi.values.faults import ArgumentFault, Wrong


@st.composite
def shapes(draw: st.DrawFn) -> Cartesian:
    dims = draw(st.lists(st.integers(1, 4), max_size=4))
    return Cartesian(tuple(dims), tuple(draw(st.booleans()) for _ in dims))


@given(shapes())
def test_ranks_number_the_cells_with_the_last_dimension_running_fastest(shape: Cartesian) -> None:
    cells = list(product(*map(range, shape.dims)))
    assert shape.size == len(cells)
    for rank, cell in enumerate(cells):
        assert shape.coords(rank) == list(cell)
        assert shape.rank(cell) == rank


@given(shapes(), st.data())
def test_a_shift_leads_to_the_cell_that_far_away_or_beyond_the_edge(
    shape: Cartesian, data: st.DataObject
) -> None:
    if not shape.dims:
        return
    rank = data.draw(st.integers(0, shape.size - 1))
    direction = data.draw(st.integers(0, len(shape.dims) - 1))
    by = data.draw(st.integers(-6, 6))
    for found, sign in zip(shape.shifted(rank, direction, by), (-1, 1), strict=True):
        cell = shape.coords(rank)
        cell[direction] += sign * by
        if shape.periods[direction]:
            cell[direction] %= shape.dims[direction]
        inside = 0 <= cell[direction] < shape.dims[direction]
        assert found == (shape.rank(cell) if inside else None)


@given(shapes(), st.data())
def test_the_parts_of_a_shape_share_out_its_ranks(shape: Cartesian, data: st.DataObject) -> None:
    remain = [data.draw(st.booleans()) for _ in shape.dims]
    seen: list[int] = []
    for rank in range(shape.size):
        part, members = shape.part(rank, remain)
        assert part.dims == tuple(e for e, stays in zip(shape.dims, remain, strict=True) if stays)
        assert len(members) == part.size
        assert rank in members
        kept = [c for c, stays in zip(shape.coords(rank), remain, strict=True) if stays]
        assert part.coords(members.index(rank)) == kept
        if members[0] == rank:
            seen.extend(members)
    assert sorted(seen) == list(range(shape.size))


def test_neighbours_come_before_and_behind_in_each_direction() -> None:
    assert Cartesian((2, 3), (False, True)).neighbours(0) == [None, 3, 2, 1]
    assert Cartesian((), ()).neighbours(0) == []


def test_coordinates_outside_a_dimension_with_an_end_are_refused() -> None:
    with pytest.raises(ArgumentFault, match="coordinate 1 is 3, not between 0 and 2") as caught:
        Cartesian((2, 3), (True, False)).rank([5, 3])
    assert caught.value.wrong is Wrong.ARGUMENT


def test_a_direction_that_is_not_there_is_refused() -> None:
    with pytest.raises(ArgumentFault, match="there is no direction 2 in 2 dimensions"):
        Cartesian((2, 3), (True, False)).shifted(0, 2, 1)


def test_a_rank_without_a_cell_is_refused() -> None:
    with pytest.raises(ArgumentFault, match="rank 6 is not between 0 and 5") as caught:
        Cartesian((2, 3), (True, False)).coords(6)
    assert caught.value.wrong is Wrong.RANK


@pytest.mark.parametrize(
    ("dims", "message", "wrong"),
    [
        ([2, 0], "dimension 1 has the extent 0", Wrong.DIMENSIONS),
        ([-1], "dimension 0 has the extent -1", Wrong.DIMENSIONS),
        ([2, 3], r"the dimensions \[2, 3\] need 6 ranks; there are 5", Wrong.ARGUMENT),
    ],
)
def test_dimensions_that_do_not_fit_are_refused(
    dims: list[int], message: str, wrong: Wrong
) -> None:
    with pytest.raises(ArgumentFault, match=message) as caught:
        checked_cartesian(dims, [False] * len(dims), 5)
    assert caught.value.wrong is wrong


def test_a_graph_gives_the_neighbours_of_each_node() -> None:
    graph = checked_graph([2, 2, 3], [1, 2, 0], 3)
    assert [graph.neighbours(rank) for rank in range(3)] == [[1, 2], [], [0]]
    with pytest.raises(ArgumentFault, match="rank 3 is not between 0 and 2"):
        graph.neighbours(3)


def test_a_graph_without_nodes_is_a_graph() -> None:
    assert checked_graph([], [], 0).size == 0


@pytest.mark.parametrize(
    ("index", "edges", "message"),
    [
        ([1, 2, 3], [0, 0, 0], "the graph has 3 nodes; there are 2 ranks"),
        ([1, 0], [0], "does not grow"),
        ([-1, 0], [], "does not grow"),
        ([1, 2], [0], "the index ends with 2; there are 1 edges"),
        ([], [0], "the index ends with 0; there are 1 edges"),
        ([1, 2], [0, 2], "an edge leads to 2; the nodes are 0 to 1"),
    ],
)
def test_a_graph_that_contradicts_itself_is_refused(
    index: list[int], edges: list[int], message: str
) -> None:
    with pytest.raises(ArgumentFault, match=message) as caught:
        checked_graph(index, edges, 2)
    assert caught.value.wrong is Wrong.ARGUMENT


def test_a_rank_sees_the_edges_that_lead_to_it_and_away() -> None:
    edges = [(0, 1, 5), (1, 2, 6), (1, 1, 7)]
    assert adjacency_of(1, edges, weighted=True) == Adjacency((0, 1), (2, 1), ((5, 7), (6, 7)))
    assert adjacency_of(2, edges, weighted=False) == Adjacency((1,), (), None)
    assert adjacency_of(3, edges, weighted=True) == Adjacency((), (), ((), ()))
