from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gcm.drawing.layered.layering import layerings, layers_of


def test_no_nodes_have_no_layers() -> None:
    assert layers_of(0, []) == []


def test_a_node_comes_after_the_longest_way_to_it() -> None:
    assert layers_of(4, [(0, 1), (1, 2), (2, 3), (0, 3)]) == [0, 1, 2, 3]


def test_repeated_edges_and_loops_change_nothing() -> None:
    assert layers_of(2, [(0, 1), (0, 1), (1, 1)]) == [0, 1]


def test_a_cycle_is_cut_where_the_walk_comes_back() -> None:
    assert layers_of(4, [(0, 1), (1, 2), (2, 0), (2, 3)]) == [0, 1, 2, 3]


def test_a_cycle_begins_at_the_node_fed_from_the_border() -> None:
    assert layers_of(3, [(0, 1), (1, 2), (2, 0)], first={1}) == [2, 0, 1]


def test_a_walk_begins_at_nodes_that_nothing_leads_to() -> None:
    assert layers_of(3, [(0, 1), (1, 0), (2, 1)]) == [2, 1, 0]


def test_a_source_moves_next_to_what_it_leads_to() -> None:
    assert layers_of(4, [(0, 1), (1, 2), (3, 2)]) == [0, 1, 2, 1]


def test_sources_that_serve_together_move_together() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (4, 6), (5, 6), (6, 3), (4, 3), (5, 3)]
    assert layers_of(7, edges) == [0, 1, 2, 3, 1, 1, 2]


def test_without_cycles_there_is_one_layering() -> None:
    assert list(layerings(3, [(0, 1), (1, 2)])) == [[0, 1, 2]]


def test_each_layering_of_a_cycle_has_another_edge_that_leads_back() -> None:
    found = list(layerings(3, [(0, 1), (1, 2), (2, 0)]))
    assert sorted(found) == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert found == list(layerings(3, [(0, 1), (1, 2), (2, 0)]))


def test_a_source_fed_from_the_border_stays_at_the_left() -> None:
    assert layers_of(4, [(0, 1), (1, 2), (3, 2)], first={3}) == [0, 1, 2, 0]


def test_a_node_that_only_leads_to_the_right_border_goes_there() -> None:
    assert layers_of(3, [(0, 1)], last={2}) == [0, 1, 1]
    assert layers_of(3, [(0, 1)]) == [0, 1, 0]


def test_long_chains_need_no_deep_recursion() -> None:
    count = 5000
    edges = [(node, node + 1) for node in range(count - 1)] + [(count - 1, 0)]
    assert layers_of(count, edges) == list(range(count))


EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@given(EDGES)
def test_an_acyclic_graph_has_only_forward_edges(edges: list[tuple[int, int]]) -> None:
    upward = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    layers = layers_of(10, upward)
    assert all(layers[start] < layers[end] for start, end in upward)
    assert min(layers) == 0


@given(EDGES)
def test_layers_leave_no_gaps(edges: list[tuple[int, int]]) -> None:
    layers = layers_of(10, edges)
    assert set(layers) == set(range(max(layers) + 1))
