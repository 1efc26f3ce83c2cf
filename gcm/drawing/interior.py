"""Lays out the inside of one composite: children in columns, ports on the borders, wires between.

The steps are one module each: layers, columns, order, heights, tracks, places from left to right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gcm.drawing import metrics
from gcm.drawing.geometry import DrawnWire, PlacedBox, PlacedPort
from gcm.drawing.layered.columns import Size, grid
from gcm.drawing.metrics import CHANNEL_MARGIN, TRACK, shortened, text_width
from gcm.drawing.plan import CompositeLayout, along_border, is_shortcut, plan
from gcm.drawing.routing import Point, corners, simplified, tracks_of
from gcm.drawing.scene import THIS, Box, ScenePort
from gcm.drawing.style import WIRE_COLOURS
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Interior:
    """The inside of a composite below its header, with the ports on its two borders."""

    width: int
    height: int
    ports: tuple[PlacedPort, ...]
    children: tuple[PlacedBox, ...]
    wires: tuple[DrawnWire, ...]


def lay_out(
    box: Box, ports: Sequence[ScenePort], children: Sequence[PlacedBox], *, least_width: int
) -> Interior:
    """Return the inside of `box`, given its visible ports and its already sized children."""
    made = plan(box, ports, children)
    tracks = [tracks_of(made.graph, edges) for edges in made.graph.channels]
    left, right = _label_zone(ports, on_left=True), _label_zone(ports, on_left=False)
    widths = made.column_widths()
    spots, block = grid(
        [Size(child.width, child.height) for child in made.loose], least_width=sum(widths)
    )
    across = spread(
        widths,
        [max(found.values(), default=-1) + 1 for found in tracks],
        left_zone=left,
        right_zone=right,
        least_width=max(least_width, left + block.width + right + 2 * metrics.CHANNEL_MARGIN),
    )
    # Without wires, the ports' names and the loose children stand side by side.
    block_top = made.height + 2 * metrics.BOX_MARGIN if made.graph.routes and made.loose else 0
    block_left = (left + across.width - right - block.width) // 2
    at = _wired_corners(made, across)
    at.update(
        (child.box.name, Point(block_left + x, block_top + y))
        for child, (x, y) in zip(made.loose, spots, strict=True)
    )
    placed = tuple(child.moved(*_down(at[child.box.name])) for child in children)
    borders = tuple(_border_port(port, made, across.width) for port in ports)
    height = max(made.height, block_top + block.height) + 2 * metrics.PADDING
    wires = _wires(made, across, tracks, placed, borders)
    return Interior(across.width, height, borders, placed, wires)


def _wired_corners(made: CompositeLayout, across: Across) -> dict[str, Point]:
    corner = {}
    for item, (child, cell) in enumerate(zip(made.wired, made.cells, strict=True)):
        x = across.columns[cell.column] - child.width // 2
        corner[child.box.name] = Point(x, made.graph.items[item].top)
    return corner


def _down(point: Point) -> Point:
    return Point(point.x, point.y + metrics.PADDING)


def _label_zone(ports: Sequence[ScenePort], *, on_left: bool) -> int:
    """Return the width that the names of the ports on one border need inside it."""
    widths = [
        text_width(shortened(port.caption, metrics.LABEL_SIZE), metrics.LABEL_SIZE)
        for port in ports
        if port.on_left == on_left
    ]
    return max(widths, default=0) + metrics.INNER_INDENT if widths else 0


def _border_port(port: ScenePort, made: CompositeLayout, width: int) -> PlacedPort:
    y = made.graph.y(made.border[port.name]) + metrics.PADDING
    at = Point(0 if port.on_left else width, y)
    return PlacedPort(port, at, shortened(port.caption, metrics.LABEL_SIZE), two_faced=True)


def _wires(
    made: CompositeLayout,
    across: Across,
    tracks: Sequence[Mapping[int, int]],
    children: Sequence[PlacedBox],
    borders: Sequence[PlacedPort],
) -> tuple[DrawnWire, ...]:
    touch = {(THIS, placed.port.name): placed.inner for placed in borders}
    for child in children:
        for placed in child.ports:
            touch[child.box.name, placed.port.name] = Point(
                child.x + placed.outer.x, child.y + placed.outer.y
            )

    def end(component: str, interface: str) -> Point:
        return touch[component, made.meanings[component, interface].name]

    colours = _colours_of(tracks)
    routed = iter(
        [
            DrawnWire(
                route.link,
                colours.get(route.net, 0),
                simplified(
                    [
                        end(*route.link.client),
                        *map(_down, corners(route, made.graph, tracks, across.tracks)),
                        end(*route.link.server),
                    ]
                ),
            )
            for route in made.graph.routes
        ]
    )
    short = [link for link in made.links if is_shortcut(link, made.meanings)]
    ways = along_border(
        [(end(*link.client), end(*link.server)) for link in short],
        [placed.inner for placed in borders],
    )
    beside = iter([DrawnWire(link, 0, way) for link, way in zip(short, ways, strict=True)])
    return tuple(
        next(beside if is_shortcut(link, made.meanings) else routed) for link in made.links
    )


def _colours_of(tracks: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Return a colour, from 1 on, for each net that bends: another one than its neighbours have.

    Where there are more neighbours than colours, the one that meets its like least often.

    >>> _colours_of([{7: 0, 8: 1}, {8: 0, 9: 0}])
    {7: 1, 8: 2, 9: 1}
    """
    colours: dict[int, int] = {}
    choice = range(1, WIRE_COLOURS)
    for net in sorted({net for found in tracks for net in found}):
        met = Counter(
            colours[other]
            for found in tracks
            if net in found
            for other in found
            if other in colours
        )
        colours[net] = min(choice, key=lambda colour: (met[colour], colour))
    return colours


@dataclass(frozen=True, slots=True)
class Across:
    """Where the middle of each inner column and each track of each channel is."""

    columns: tuple[int, ...]
    tracks: tuple[tuple[int, ...], ...]
    width: int


def spread(
    column_widths: Sequence[int],
    track_counts: Sequence[int],
    *,
    left_zone: int,
    right_zone: int,
    least_width: int,
) -> Across:
    """Place channel, column, channel and so on; there is one channel more than columns.

    The zones are kept free of tracks for the names of the ports on the two borders. A width that
    is missing to `least_width` goes to the first and the last channel.
    """
    channels = [2 * CHANNEL_MARGIN + TRACK * max(0, count - 1) for count in track_counts]
    natural = left_zone + sum(channels) + sum(column_widths) + right_zone
    surplus = max(0, least_width - natural)
    x = left_zone + surplus // 2
    middles: list[int] = []
    tracks: list[tuple[int, ...]] = []
    for number, count in enumerate(track_counts):
        first = x + CHANNEL_MARGIN
        tracks.append(tuple(first + TRACK * track for track in range(count)))
        x += channels[number]
        if number < len(column_widths):
            middles.append(x + column_widths[number] // 2)
            x += column_widths[number]
    return Across(tuple(middles), tuple(tracks), natural + surplus)
