"""Decides for the inside of one composite what is in which column, and at which height."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gcm.drawing import metrics
from gcm.drawing.geometry import PlacedBox
from gcm.drawing.layered.alignment import align
from gcm.drawing.layered.columns import Cell, Size, arrange
from gcm.drawing.layered.crossings import crossings
from gcm.drawing.layered.layer_graph import End, Item, LayerGraph, Pin, connect
from gcm.drawing.layered.layering import layerings
from gcm.drawing.layered.ordering import order
from gcm.drawing.layered.sifting import improve
from gcm.drawing.routing import Point, simplified
from gcm.drawing.scene import THIS, Box, PortFinder, SceneLink, ScenePort
from gcm.records import dataclass

TRIED = 2_000
"""The items of all graphs together after which no other graph is tried."""


@dataclass(frozen=True, slots=True)
class CompositeLayout:
    """The columns of a composite: item n of the graph is the n-th wired child.

    `loose` are the children that no link touches, `border` are the pins of the composite's own
    ports by their names, `meanings` the ports that the ends of the links mean. `links` are all that
    are visible; those that only run along the border are not on the graph.
    """

    wired: tuple[PlacedBox, ...]
    loose: tuple[PlacedBox, ...]
    cells: tuple[Cell, ...]
    graph: LayerGraph
    links: tuple[SceneLink, ...]
    border: dict[str, Pin]
    meanings: dict[tuple[str, str], ScenePort]
    height: int

    def column_widths(self) -> list[int]:
        """Return the width of each inner column."""
        widths = [0] * (len(self.graph.columns) - 2)
        for child, cell in zip(self.wired, self.cells, strict=True):
            widths[cell.column] = max(widths[cell.column], child.width)
        return widths


class _Try(NamedTuple):
    """Cells for the children, and the graph and the pins of the border made of them."""

    cells: tuple[Cell, ...]
    graph: LayerGraph
    border: dict[str, Pin]


def plan(box: Box, ports: Sequence[ScenePort], children: Sequence[PlacedBox]) -> CompositeLayout:
    """Return the plan of a composite with these visible ports and already sized children.

    Several arrangements in columns are ordered, and the one with the fewest crossings is improved.
    """
    meanings = _meanings(box, ports, children)
    links = [link for link in box.links if link.client in meanings and link.server in meanings]
    kept = {end for link in links for end in (link.client, link.server)}
    meanings = {end: port for end, port in meanings.items() if end in kept}
    names = {component for component, _ in kept}
    wired = tuple(child for child in children if child.box.name in names)
    routed = [link for link in links if not is_shortcut(link, meanings)]
    best: tuple[int, _Try] | None = None
    tried = 0
    for cells, price in _arrangements(wired, links):
        made = _graph(wired, cells, ports, routed, meanings)
        order(made.graph)
        found = crossings(made.graph) + price
        if best is None or found < best[0]:
            best = found, made
        tried += len(made.graph.items)
        if not found or tried > TRIED:
            break
    assert best is not None, "there is always one arrangement"
    cells, graph, border = best[1]
    improve(graph)
    return CompositeLayout(
        wired,
        tuple(child for child in children if child.box.name not in names),
        cells,
        graph,
        tuple(links),
        border,
        meanings,
        align(graph),
    )


def _graph(
    wired: Sequence[PlacedBox],
    cells: tuple[Cell, ...],
    ports: Sequence[ScenePort],
    links: Sequence[SceneLink],
    meanings: dict[tuple[str, str], ScenePort],
) -> _Try:
    """Return a graph with the children in these cells, and with the links."""
    graph = LayerGraph()
    graph.columns = [[] for _ in range(max((cell.column + 1 for cell in cells), default=0) + 2)]
    for child, cell in zip(wired, cells, strict=True):
        graph.columns[cell.column + 1].append(len(graph.items))
        weight = max(1, child.height // metrics.HEIGHT_PER_WEIGHT)
        graph.items.append(Item(child.height, metrics.BOX_MARGIN, weight, cell.band))
    border = _add_border(graph, ports)
    connect(graph, links, _ends(meanings, wired, cells, graph, border))
    return _Try(cells, graph, border)


def _meanings(
    box: Box, ports: Sequence[ScenePort], children: Sequence[PlacedBox]
) -> dict[tuple[str, str], ScenePort]:
    """Return the port that each end of a link means, where that port is visible."""
    finders = {child.box.name: PortFinder(child.box.outer_ports) for child in children}
    finders[THIS] = PortFinder(box.ports)
    visible = {(child.box.name, placed.port.name) for child in children for placed in child.ports}
    visible |= {(THIS, port.name) for port in ports}
    found = {}
    for end in dict.fromkeys(end for link in box.links for end in (link.client, link.server)):
        port = finders[end[0]].find(end[1])
        if port is not None and (end[0], port.name) in visible:
            found[end] = port
    return found


def _arrangements(
    wired: Sequence[PlacedBox], links: Sequence[SceneLink]
) -> Iterator[tuple[tuple[Cell, ...], int]]:
    """Yield different cells for the children, and how many crossings they have to save.

    Composites that are bound to each other in the same way stand above each other: neither comes
    before, and side by side they would be wide.
    """
    known = {(link.client, link.server) for link in links}
    number = {child.box.name: item for item, child in enumerate(wired)}
    edges = []
    first = set()
    last = set()
    has_equals = False
    for link in links:
        start, end = number.get(link.client[0]), number.get(link.server[0])
        if start is not None and end is not None:
            (one, client), (other, server) = link.client, link.server
            is_composite = wired[start].box.children and wired[end].box.children
            if is_composite and ((other, client), (one, server)) in known:
                has_equals = True
            else:
                edges.append((start, end))
        elif end is not None:
            first.add(end)
        elif start is not None:
            last.add(start)
    sizes = [Size(child.width, child.height) for child in wired]
    for layers in layerings(len(wired), edges, first=first, last=last):
        broken = arrange(layers, sizes)
        whole = arrange(layers, sizes, in_bands=False)
        yield tuple(broken), 0
        if whole != broken:
            yield tuple(whole), len(wired) // metrics.BOXES_PER_CROSSING
        if has_equals:
            return


def _add_border(graph: LayerGraph, ports: Sequence[ScenePort]) -> dict[str, Pin]:
    """Add the composite's own ports as items of the first and the last column."""
    pins = {}
    bands = [item.band for item in graph.items] or [0.0]
    for port in ports:
        pins[port.name] = Pin(len(graph.items), metrics.LABEL_ROOM)
        graph.columns[0 if port.on_left else -1].append(len(graph.items))
        band = min(bands) if port.on_left else max(bands)
        graph.items.append(Item(metrics.BORDER_ROW, 0, 1, band))
    return pins


def _ends(
    meanings: dict[tuple[str, str], ScenePort],
    wired: Sequence[PlacedBox],
    cells: Sequence[Cell],
    graph: LayerGraph,
    border: dict[str, Pin],
) -> dict[tuple[str, str], End]:
    pins: dict[tuple[str, str], tuple[Pin, int]] = {
        (THIS, name): (pin, 0 if pin.item in graph.columns[0] else len(graph.columns) - 1)
        for name, pin in border.items()
    }
    for item, (child, cell) in enumerate(zip(wired, cells, strict=True)):
        pins.update(
            ((child.box.name, placed.port.name), (Pin(item, placed.at.y), cell.column + 1))
            for placed in child.ports
        )
    ends = {}
    for (component, interface), port in meanings.items():
        pin, column = pins[component, port.name]
        # A port of the composite opens to the inside, one of a child to the outside.
        opens_left = port.on_left != (component == THIS)
        ends[component, interface] = End(pin, column - 1 if opens_left else column)
    return ends


LANES = 4
LANE = 3
"""How far apart the lanes are, all of them between the border and the names of its ports."""


def is_shortcut(link: SceneLink, meanings: Mapping[tuple[str, str], ScenePort]) -> bool:
    """Return whether a link joins two ports on the same border of the composite around it."""
    client, server = meanings[link.client], meanings[link.server]
    return (
        link.client[0] == link.server[0] == THIS
        and client.on_left == server.on_left
        and client.name != server.name
    )


def along_border(
    ends: Sequence[tuple[Point, Point]], ports: Sequence[Point]
) -> list[tuple[Point, ...]]:
    """Return the ways of links between points on a border that has these ports, each in a lane.

    What lies between two ports, be it another port or another link, is passed nearer to the border.

    >>> along_border([(Point(12, 10), Point(12, 30))], [Point(12, 10), Point(12, 30)])
    [(Point(x=12, y=10), Point(x=12, y=30))]
    """
    ways = []
    taken: list[tuple[int, int, int]] = []
    for start, end in ends:
        top, bottom = sorted((start.y, end.y))
        others = {lane for lane, high, low in taken if high <= bottom and low >= top}
        if any(port.x == start.x and top < port.y < bottom for port in ports):
            others.add(0)
        lane = next((one for one in range(LANES) if one not in others), LANES - 1)
        taken.append((lane, top, bottom))
        aside = lane * LANE
        x = start.x - aside if start.x == metrics.STEM else start.x + aside
        ways.append(simplified([start, Point(x, start.y), Point(x, end.y), end]))
    return ways
