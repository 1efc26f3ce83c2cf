"""Sizes and places boxes from the innermost outwards."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.drawing import metrics
from gcm.drawing.columns import Size
from gcm.drawing.geometry import PlacedBox, PlacedPort
from gcm.drawing.interior import lay_out
from gcm.drawing.metrics import shortened, text_width
from gcm.drawing.routing import Point
from gcm.drawing.scene import Box, Port
from gcm.drawing.shapes import icon


def place(box: Box, *, controls: bool = False) -> PlacedBox:
    """Return the box with all that is inside it, placed at the origin."""
    ports = tuple(port for port in box.ports if controls or not port.is_control)
    if not box.children and not box.links:
        return _leaf(box, ports)
    children = _equally_wide([place(child, controls=controls) for child in box.children])
    inside = lay_out(box, ports, children, least_width=_header(box).width)
    top = _header(box).height
    return PlacedBox(
        box=box,
        x=0,
        y=0,
        width=inside.width,
        height=top + inside.height,
        label=_label(box),
        note=_note(box),
        ports=tuple(
            PlacedPort(placed.port, Point(placed.at.x, placed.at.y + top), placed.label)
            for placed in inside.ports
        ),
        children=tuple(child.moved(child.x, child.y + top) for child in inside.children),
        wires=tuple(wire.lowered(top) for wire in inside.wires),
    )


def _leaf(box: Box, ports: tuple[Port, ...]) -> PlacedBox:
    sides = [port for port in ports if port.on_left], [port for port in ports if not port.on_left]
    rows = max(len(side) for side in sides)
    header = _header(box)
    label_widths = [
        max((text_width(_port_label(port), metrics.LABEL_SIZE) for port in side), default=0)
        for side in sides
    ]
    between = 2 * metrics.PADDING if all(label_widths) else 0
    names = sum(label_widths) + between + 2 * metrics.LABEL_INDENT
    width = max(metrics.LEAF_MIN_WIDTH, header.width, names)
    # Both sides begin at the top, so that chains of first interfaces run straight.
    first = header.height + metrics.PORT_ROW // 2
    placed = [
        PlacedPort(port, Point(x, first + row * metrics.PORT_ROW), _port_label(port))
        for side, x in zip(sides, (0, width), strict=True)
        for row, port in enumerate(side)
    ]
    height = header.height + rows * metrics.PORT_ROW + (metrics.PADDING if rows else 0)
    return PlacedBox(box, 0, 0, width, height, _label(box), _note(box), tuple(placed))


def _equally_wide(children: Sequence[PlacedBox]) -> list[PlacedBox]:
    """Widen the leaves among the children to the widest of them, unless that is far wider."""
    leaves = [child.width for child in children if not child.children]
    widest = max(leaves, default=0)
    return [
        child.widened(widest)
        if not child.children and not child.wires and child.width * metrics.STRETCH >= widest
        else child
        for child in children
    ]


def _header(box: Box) -> Size:
    """Return the room that the name, the note and the sign of the box's kind need."""
    name = text_width(_label(box), metrics.TITLE_SIZE, bold=True)
    note = text_width(_note(box), metrics.NOTE_SIZE) if box.note else 0
    aside = metrics.ICON if icon(box.kind) else metrics.PADDING
    width = max(name + 2 * aside, note + 2 * metrics.PADDING)
    return Size(width, metrics.HEADER + (metrics.NOTE_LINE if box.note else 0))


def _label(box: Box) -> str:
    return shortened(box.name, metrics.TITLE_SIZE, bold=True)


def _note(box: Box) -> str:
    return shortened(box.note, metrics.NOTE_SIZE)


def _port_label(port: Port) -> str:
    return shortened(port.name, metrics.LABEL_SIZE)
