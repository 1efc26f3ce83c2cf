"""Fifty components on one level, drawn by `gcm draw` and by Graphviz: crossings and wire lengths.

    python -m benchmarks.drawings

Graphviz gets the same boxes as records, with one field for each interface, and its curves count as
twelve lines each. It is run twice: with wires that leave clients at the right and arrive at servers
at the left, as ours do, and with wires that may use either side of a field. Each number is the sum
over three pictures. Without the program `dot` there are only our own numbers.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations, pairwise
from random import Random
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from gcm.drawing import Box, SceneLink, ScenePort
from gcm.drawing.geometry import DrawnWire, PlacedBox
from gcm.drawing.placing import place
from gcm.drawing.routing import Point

Edges = set[tuple[int, int]]
Graph = Callable[[Random], Edges]

SEEDS = range(3)
LINES = 12
POINTS_PER_INCH = 72

COUNT = 50
LAYERS = 7


def layered(chance: Random) -> Edges:
    """Everything leads from one of seven layers to the next."""
    layer = [chance.randrange(LAYERS) for _ in range(COUNT)]
    edges: Edges = set()
    for here in range(COUNT):
        later = [there for there in range(COUNT) if layer[there] == layer[here] + 1]
        ends = chance.sample(later, min(len(later), chance.choice([1, 1, 2, 2])))
        edges.update((here, there) for there in ends)
    return edges


def a_tree_with_short_cuts(chance: Random) -> Edges:
    """Each component is served by an earlier one, and twelve more bindings go anywhere."""
    edges = {(chance.randrange(max(0, here - 12), here), here) for here in range(1, COUNT)}
    for _ in range(12):
        start, end = sorted(chance.sample(range(COUNT), 2))
        edges.add((start, end))
    return edges


def four_services_for_all(chance: Random) -> Edges:
    """Each component uses one or two of four services, and often one of its neighbours."""
    users = COUNT - 4
    edges: Edges = set()
    for here in range(users):
        services = chance.sample(range(users, COUNT), chance.choice([1, 1, 2]))
        edges.update((here, there) for there in services)
        if here + 1 < users and chance.random() < 0.7:
            edges.add((here, here + 1 + chance.randrange(min(4, users - 1 - here))))
    return edges


def with_cycles(chance: Random) -> Edges:
    """Each component uses one or two others, whichever they are."""
    edges: Edges = set()
    for here in range(COUNT):
        for _ in range(chance.choice([1, 2])):
            edges.add((here, chance.randrange(COUNT)))
    return {(start, end) for start, end in edges if start != end}


def flat(edges: Edges) -> Box:
    """Return a composite with these bindings: one client interface for each, one server."""
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
            found |= _met(one, other) | _met(other, one)
    return len(found)


def _met(one: DrawnWire, other: DrawnWire) -> set[Point]:
    return {
        Point(start.x, begin.y)
        for start, end in pairwise(one.points)
        for begin, stop in pairwise(other.points)
        if start.x == end.x and begin.y == stop.y
        if min(start.y, end.y) < begin.y < max(start.y, end.y)
        if min(begin.x, stop.x) < start.x < max(begin.x, stop.x)
    }


def length(placed: PlacedBox) -> int:
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


def measured(made: Graph) -> tuple[int, int]:
    """Return the crossings and the length of the wires in three pictures together."""
    pictures = [place(flat(made(Random(seed)))) for seed in SEEDS]
    return sum(map(crossings, pictures)), sum(map(length, pictures))


KINDS: dict[str, Graph] = {
    "layered": layered,
    "a tree with short cuts": a_tree_with_short_cuts,
    "four services for all": four_services_for_all,
    "with cycles": with_cycles,
}


class Curve(NamedTuple):
    """A wire of Graphviz: the interfaces it joins, and the points of its lines."""

    client: tuple[str, str]
    server: tuple[str, str]
    points: list[tuple[float, float]]


def graphviz(edges: Edges, *, same_sides: bool) -> tuple[int, int]:
    """Return the crossings and the length of the wires in the picture that `dot` makes."""
    made = subprocess.run(
        ["dot", "-Tjson"],
        input=_source(flat(edges), same_sides=same_sides),
        capture_output=True,
        text=True,
        check=True,
    )
    curves = list(_curves(json.loads(made.stdout)))
    crossed = sum(
        _cross(*line, *other)
        for one, two in combinations(curves, 2)
        if one.client != two.client and one.server != two.server
        for line in pairwise(one.points)
        for other in pairwise(two.points)
    )
    return crossed, int(sum(math.dist(*line) for one in curves for line in pairwise(one.points)))


def _source(box: Box, *, same_sides: bool) -> str:
    lines = ["digraph {", "rankdir=LR; node [shape=record, fixedsize=true, fontsize=9];"]
    for child in place(box).children:
        fields = {
            on_left: "|".join(
                f"<{port.name}>{port.name}" for port in child.box.ports if port.on_left == on_left
            )
            for on_left in (True, False)
        }
        label = f"{{{{{fields[True]}}}|{child.box.name}|{{{fields[False]}}}}}"
        size = f"width={child.width / POINTS_PER_INCH},height={child.height / POINTS_PER_INCH}"
        lines.append(f'{child.box.name} [label="{label}",{size}];')
    east, west = (":e", ":w") if same_sides else ("", "")
    lines += [
        f"{':'.join(link.client)}{east} -> {':'.join(link.server)}{west};" for link in box.links
    ]
    return "\n".join([*lines, "}"])


def _curves(graph: dict[str, list[dict[str, str]]]) -> Iterable[Curve]:
    names = [one["name"] for one in graph["objects"]]
    for edge in graph["edges"]:
        points = [
            (float(x), float(y))
            for x, y in (one.removeprefix("e,").split(",") for one in edge["pos"].split())
        ]
        end, *curve = points  # the tip of the arrow comes first
        line = [
            _on_curve(curve[first : first + 4], step / LINES)
            for first in range(0, len(curve) - 1, 3)
            for step in range(LINES)
        ]
        yield Curve(
            (names[int(edge["tail"])], edge["tailport"]),
            (names[int(edge["head"])], edge["headport"]),
            [*line, curve[-1], end],
        )


def _on_curve(points: list[tuple[float, float]], t: float) -> tuple[float, float]:
    """Return a point of a Bezier curve."""
    weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
    x, y = (
        sum(weight * point[axis] for weight, point in zip(weights, points, strict=True))
        for axis in (0, 1)
    )
    return x, y


def _cross(
    a: tuple[float, float], b: tuple[float, float], c: tuple[float, float], d: tuple[float, float]
) -> bool:
    """Tell whether the lines from a to b and from c to d cross."""
    if max(a[0], b[0]) < min(c[0], d[0]) or max(c[0], d[0]) < min(a[0], b[0]):
        return False
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(
    start: tuple[float, float], end: tuple[float, float], point: tuple[float, float]
) -> float:
    return (end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (point[0] - start[0])


def main() -> None:
    """Print the table of all kinds."""
    table = Table(
        title="fifty components: crossings (and length of the wires) in three pictures",
        title_justify="left",
        show_edge=False,
        header_style="bold",
    )
    for heading in ("kind", "gcm draw", "Graphviz, same sides", "Graphviz, either side"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for kind, made in KINDS.items():
        found = [measured(made)]
        for same_sides in (True, False) if shutil.which("dot") else ():
            pictures = [graphviz(made(Random(seed)), same_sides=same_sides) for seed in SEEDS]
            found.append((sum(one[0] for one in pictures), sum(one[1] for one in pictures)))
        table.add_row(kind, *(f"{crossed} ({drawn})" for crossed, drawn in found))
    Console().print(table)


if __name__ == "__main__":
    main()
