from __future__ import annotations

from gcm.drawing.layered.layer_graph import Edge, Item, LayerGraph, Pin
from gcm.drawing.routing import CLEARANCE, Point, simplified, tracks_of


def tracks(*nets: tuple[list[int], list[int]]) -> dict[int, int]:
    """Return the tracks of nets given by their heights on the left and on the right."""
    graph = LayerGraph(items=[Item(0, 0, 1)])
    edges = [
        Edge(
            number,
            tuple(Pin(0, height) for height in left),
            tuple(Pin(0, height) for height in right),
        )
        for number, (left, right) in enumerate(nets)
    ]
    return tracks_of(graph, edges)


def test_a_straight_wire_needs_no_track() -> None:
    assert tracks(([5], [5])) == {}


def test_an_empty_channel_has_no_tracks() -> None:
    assert tracks() == {}


def test_wires_far_apart_share_a_track() -> None:
    assert tracks(([0], [20]), ([60], [80])) == {0: 0, 1: 0}


def test_wires_that_overlap_take_two_tracks() -> None:
    assert sorted(tracks(([0], [50]), ([30], [80])).values()) == [0, 1]


def test_wires_that_would_nearly_touch_take_two_tracks() -> None:
    near = 20 + CLEARANCE - 1
    assert sorted(tracks(([0], [20]), ([near], [near + 30])).values()) == [0, 1]


def test_wires_that_go_down_nest_without_crossing() -> None:
    assert tracks(([0], [100]), ([10], [110])) == {1: 0, 0: 1}


def test_wires_that_go_up_nest_without_crossing() -> None:
    assert tracks(([100], [0]), ([110], [10])) == {0: 0, 1: 1}


def test_a_wire_does_not_run_over_another_one_that_ends_at_its_height() -> None:
    # The second begins on the left at the height where the first arrives on the right.
    assert tracks(([0], [50]), ([50], [90])) == {1: 0, 0: 1}
    assert tracks(([50], [90]), ([0], [50])) == {0: 0, 1: 1}


def test_wires_that_turn_back_stay_on_their_side() -> None:
    found = tracks(([], [0, 100]), ([20], [80]), ([10, 90], []))
    assert found == {2: 0, 1: 1, 0: 2}


def test_a_bus_has_one_track_for_all_its_branches() -> None:
    assert tracks(([50], [0, 50, 100])) == {0: 0}


def test_a_line_keeps_only_its_corners() -> None:
    line = [Point(0, 0), Point(5, 0), Point(9, 0), Point(9, 0), Point(9, 4), Point(9, 7)]
    assert simplified(line) == (Point(0, 0), Point(9, 0), Point(9, 7))
