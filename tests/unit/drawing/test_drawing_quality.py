"""Pictures of fifty flat components, by numbers: crossings and the length of the wires.

The bounds are what Graphviz 2.43 does with the same boxes and interfaces (`dot`, `rankdir=LR`,
records of the same sizes with one field for each interface, splines counted as twelve lines each).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations, pairwise
from random import Random

import pytest

from gcm.drawing import Box, SceneLink, ScenePort
from gcm.drawing.geometry import DrawnWire, PlacedBox
from gcm.drawing.placing import place
from gcm.drawing.routing import Point

COUNT = 50
LAYERS = 7


def layered(chance: Random) -> set[tuple[int, int]]:
    """Everything leads from one of seven layers to the next."""
    layer = [chance.randrange(LAYERS) for _ in range(COUNT)]
    edges: set[tuple[int, int]] = set()
    for here in range(COUNT):
        later = [there for there in range(COUNT) if layer[there] == layer[here] + 1]
        ends = chance.sample(later, min(len(later), chance.choice([1, 1, 2, 2])))
        edges.update((here, there) for there in ends)
    return edges


def a_tree_with_short_cuts(chance: Random) -> set[tuple[int, int]]:
    edges = {(chance.randrange(max(0, here - 12), here), here) for here in range(1, COUNT)}
    for _ in range(12):
        start, end = sorted(chance.sample(range(COUNT), 2))
        edges.add((start, end))
    return edges


def four_services_for_all(chance: Random) -> set[tuple[int, int]]:
    users = COUNT - 4
    edges: set[tuple[int, int]] = set()
    for here in range(users):
        services = chance.sample(range(users, COUNT), chance.choice([1, 1, 2]))
        edges.update((here, there) for there in services)
        if here + 1 < users and chance.random() < 0.7:
            edges.add((here, here + 1 + chance.randrange(min(4, users - 1 - here))))
    return edges


def with_cycles(chance: Random) -> set[tuple[int, int]]:
    edges: set[tuple[int, int]] = set()
    for here in range(COUNT):
        for _ in range(chance.choice([1, 2])):
            edges.add((here, chance.randrange(COUNT)))
    return {(start, end) for start, end in edges if start != end}


def flat(edges: set[tuple[int, int]]) -> Box:
    outward: dict[int, list[int]] = defaultdict(list)
    for start, end in sorted(edges):
        outward[start].append(end)
    served = {end for _, end in edges}
    boxes = [
        Box(
            f"component{number}",
            (
                *([ScenePort("in", "server")] if number in served else []),
                *(ScenePort(f"out{place}", "client") for place in range(len(outward[number]))),
            ),
        )
        for number in range(COUNT)
    ]
    links = [
        SceneLink((f"component{start}", f"out{place}"), (f"component{end}", "in"))
        for start, ends in outward.items()
        for place, end in enumerate(ends)
    ]
    return Box("flat", (), tuple(boxes), tuple(links), "composite")


def crossings(placed: PlacedBox) -> int:
    """Count the places where wires with no end in common cross."""
    found = set()
    for one, other in combinations(placed.wires, 2):
        if one.link.client != other.link.client and one.link.server != other.link.server:
            found |= met(one, other) | met(other, one)
    return len(found)


def met(one: DrawnWire, other: DrawnWire) -> set[Point]:
    return {
        Point(start.x, begin.y)
        for start, end in pairwise(one.points)
        for begin, stop in pairwise(other.points)
        if start.x == end.x and begin.y == stop.y
        if min(start.y, end.y) < begin.y < max(start.y, end.y)
        if min(begin.x, stop.x) < start.x < max(begin.x, stop.x)
    }


def ink(placed: PlacedBox) -> int:
    """Measure the wires; what several run over together counts once."""
    across: dict[int, set[int]] = defaultdict(set)
    down: dict[int, set[int]] = defaultdict(set)
    for wire in placed.wires:
        for start, end in pairwise(wire.points):
            if start.y == end.y:
                across[start.y].update(range(min(start.x, end.x), max(start.x, end.x)))
            else:
                down[start.x].update(range(min(start.y, end.y), max(start.y, end.y)))
    return sum(map(len, (*across.values(), *down.values())))


def measured(made: Callable[[Random], set[tuple[int, int]]]) -> tuple[int, int]:
    pictures = [place(flat(made(Random(seed)))) for seed in range(3)]
    return sum(map(crossings, pictures)), sum(map(ink, pictures))


@pytest.mark.parametrize(
    ("made", "graphviz_crossings", "graphviz_ink"),
    [
        (layered, 128, 23774),
        (a_tree_with_short_cuts, 82, 37312),
        (four_services_for_all, 893, 176427),
    ],
)
def test_fifty_flat_components_are_drawn_as_well_as_graphviz_draws_them(
    made: Callable[[Random], set[tuple[int, int]]], graphviz_crossings: int, graphviz_ink: int
) -> None:
    crossed, drawn = measured(made)
    assert crossed <= graphviz_crossings
    assert drawn <= 1.1 * graphviz_ink


def test_wires_that_turn_back_cross_more_but_are_shorter() -> None:
    crossed, drawn = measured(with_cycles)
    assert crossed <= 1.8 * 118
    assert drawn <= 107462
