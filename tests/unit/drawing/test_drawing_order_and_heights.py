from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from gcm.drawing.layered.alignment import align, monotone
from gcm.drawing.layered.crossings import crossings
from gcm.drawing.layered.layer_graph import End, Item, LayerGraph, Pin, connect
from gcm.drawing.layered.ordering import order, separation, stack
from gcm.drawing.layered.sifting import improve
from gcm.drawing.scene import SceneLink


def board_of(columns: list[int], links: list[tuple[int, int]], bands: dict[int, int]) -> LayerGraph:
    """Make a graph of boxes 40 high; a link runs from the right of one to the left of another."""
    graph = LayerGraph()
    column_of = []
    for number, count in enumerate(columns):
        graph.columns.append(list(range(len(graph.items), len(graph.items) + count)))
        column_of += [number] * count
        graph.items += [Item(40, 5, 1) for _ in range(count)]
    for item, band in bands.items():
        graph.items[item].band = band
    ends = {}
    for start, end in links:
        ends[str(start), "out"] = End(Pin(start, 20), column_of[start])
        ends[str(end), "in"] = End(Pin(end, 20), column_of[end] - 1)
    connect(graph, [SceneLink((str(a), "out"), (str(b), "in")) for a, b in links], ends)
    return graph


def test_crossed_wires_are_untangled() -> None:
    graph = board_of([2, 2], [(0, 3), (1, 2)], {})
    for column in graph.columns:
        stack(graph, column)
    assert crossings(graph) > 0
    order(graph)
    assert crossings(graph) == 0
    assert graph.columns == [[0, 1], [3, 2]]


def test_what_is_in_order_stays_in_order() -> None:
    graph = board_of([2, 2], [(0, 2), (1, 3)], {})
    order(graph)
    assert graph.columns == [[0, 1], [2, 3]]


def test_no_crossing_is_worth_leaving_ones_band() -> None:
    graph = board_of([2, 2], [(0, 3), (1, 2)], {1: 1, 3: 1})
    order(graph)
    assert graph.columns == [[0, 1], [2, 3]]


def test_an_item_moves_over_several_others_at_once() -> None:
    # The last of the left column is bound to the first of the right one.
    graph = board_of([4, 4], [(0, 5), (1, 6), (2, 7), (3, 4)], {})
    for column in graph.columns:
        stack(graph, column)
    improve(graph)
    assert crossings(graph) == 0


def test_no_item_is_moved_out_of_its_band() -> None:
    graph = board_of([4, 4], [(0, 5), (1, 6), (2, 7), (3, 4)], {3: 1, 5: 1, 6: 1, 7: 1})
    for column in graph.columns:
        stack(graph, column)
    improve(graph)
    assert graph.columns == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_long_link_passes_the_columns_between_as_an_item() -> None:
    graph = board_of([1, 1, 1], [(0, 1), (0, 2)], {})
    assert graph.columns == [[0], [1, 3], [2]]
    assert [(edge.net, edge.left, edge.right) for edge in graph.channels[1]] == [
        (0, (Pin(3, 0),), (Pin(2, 20),))
    ]
    assert [route.channels for route in graph.routes] == [(0,), (0, 1)]


def test_links_that_share_an_end_share_their_passage() -> None:
    graph = board_of([2, 1, 2], [(0, 3), (0, 4), (1, 4)], {})
    assert [route.net for route in graph.routes] == [0, 0, 1]
    assert graph.columns[1] == [2, 5, 6]
    assert graph.routes[0].pins[1] == graph.routes[1].pins[1] == Pin(5, 0)
    assert graph.routes[2].pins[1] == Pin(6, 0)


def test_a_link_back_passes_under_both_of_its_boxes() -> None:
    graph = LayerGraph(items=[Item(40, 5, 1) for _ in range(4)], columns=[[2], [0], [1], [3]])
    ends = {("1", "out"): End(Pin(1, 20), 2), ("0", "in"): End(Pin(0, 20), 0)}
    connect(graph, [SceneLink(("1", "out"), ("0", "in"))], ends)
    assert graph.columns == [[2], [0, 5], [1, 4], [3]]
    assert graph.routes[0].pins == (Pin(1, 20), Pin(4, 0), Pin(5, 0), Pin(0, 20))
    assert graph.routes[0].channels == (2, 1, 0)


def test_a_stack_keeps_its_distances_and_centres_its_boxes() -> None:
    graph = LayerGraph(items=[Item(40, 5, 1), Item(20, 5, 1), Item(0, 3, 1)])
    stack(graph, [1, 0, 2])
    assert [item.top for item in graph.items] == [-5, -35, 43]
    assert separation(graph, 0, 2) == 48


def test_a_chain_runs_straight() -> None:
    graph = board_of([1, 1, 1], [(0, 1), (1, 2)], {})
    order(graph)
    assert align(graph) == 40
    assert [item.top for item in graph.items] == [0, 0, 0]


def test_the_centre_of_a_fan_is_in_the_middle_of_its_boxes() -> None:
    graph = board_of([1, 4], [(0, 1), (0, 2), (0, 3), (0, 4)], {})
    order(graph)
    assert align(graph) == 190
    assert [item.top for item in graph.items] == [75, 0, 50, 100, 150]


def nearest(values: list[int]) -> int:
    """Return the least possible sum of distances, by trying."""
    return min(
        sum(abs(level - value) for level, value in zip(levels, values, strict=True))
        for levels in product(range(min(values), max(values) + 1), repeat=len(values))
        if all(one <= other for one, other in pairwise(levels))
    )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_pooling_finds_the_nearest_never_decreasing_values(values: list[int]) -> None:
    levels = monotone(values, [1] * len(values))
    assert levels == sorted(levels)
    distance = sum(abs(level - value) for level, value in zip(levels, values, strict=True))
    assert distance == nearest(values)


def test_the_heavier_value_wins_and_equal_ones_meet_in_the_middle() -> None:
    assert monotone([10, 0], [3, 1]) == [10, 10]
    assert monotone([10, 0], [1, 3]) == [0, 0]
    assert monotone([10, 0], [1, 1]) == [5, 5]
    assert monotone([0, 10], [1, 1]) == [0, 10]
