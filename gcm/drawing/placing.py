"""Sizes and places boxes from the innermost outwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from gcm.drawing import metrics
from gcm.drawing.geometry import PlacedBox, PlacedMembrane, PlacedPort
from gcm.drawing.interior import Interior, lay_out
from gcm.drawing.layered.columns import Size
from gcm.drawing.metrics import shortened, text_width
from gcm.drawing.routing import Point
from gcm.drawing.scene import THIS, Box, ScenePort
from gcm.drawing.shapes import icon


def place(box: Box, *, controls: bool = False, bound: Collection[str] = frozenset()) -> PlacedBox:
    """Return the box with all that is inside it, placed at the origin.

    Control interfaces are left out without `controls`, except those in `bound`.
    """
    bound = {*bound, *_bound_to_membranes(box)[THIS]}
    ports = tuple(
        port
        for port in box.ports
        if controls or box.kind == "controller" or not port.is_control or port.name in bound
    )
    if box.membrane is None:
        if not box.children and not box.links:
            return _leaf(box, ports)
        children = _children(box, controls=controls)
        return _around(box, lay_out(box, ports, children, least_width=_header(box).width))
    return _with_membrane(box, box.membrane, ports, controls=controls)


def _children(box: Box, own: Sequence[ScenePort] = (), *, controls: bool) -> list[PlacedBox]:
    """Place the children of a composite, or the parts of a membrane with its `own` interfaces."""
    bound = _bound_to_membranes(box, own)
    return _equally_wide(
        [place(child, controls=controls, bound=bound[child.name]) for child in box.children]
    )


def _bound_to_membranes(box: Box, own: Sequence[ScenePort] = ()) -> dict[str, set[str]]:
    """Return by component what is bound to an interface of a membrane, which is always drawn."""
    membranes = {child.name: child.membrane.ports for child in box.children if child.membrane}
    # The second home of a shared component has no membrane of its own in the picture: there such
    # an interface is one that looks like that of a controller, and is none.
    membranes |= {
        child.name: tuple(port for port in child.ports if port.is_control and not port.control)
        for child in box.children
        if child.shared and not child.membrane
    }
    offered = {(name, port.name) for name, ports in membranes.items() for port in ports}
    offered |= {(THIS, port.name) for port in own}
    bound = defaultdict[str, set[str]](set)
    for link in box.links:
        if link.client in offered or link.server in offered:
            for component, interface in (link.client, link.server):
                bound[component].add(interface)
    return bound


def _around(box: Box, inside: Interior) -> PlacedBox:
    """Put the border and the header around the inside of a composite."""
    top = _header(box).height
    return PlacedBox(
        box=box,
        x=0,
        y=0,
        width=inside.width,
        height=top + inside.height,
        label=_label(box),
        note=_note(box),
        ports=tuple(placed.lowered(top) for placed in inside.ports),
        children=tuple(child.moved(child.x, child.y + top) for child in inside.children),
        wires=tuple(wire.lowered(top) for wire in inside.wires),
    )


def _with_membrane(
    box: Box, membrane: Box, ports: tuple[ScenePort, ...], *, controls: bool
) -> PlacedBox:
    """Place the membrane with its parts above the content, both equally wide."""
    content = replace(box, name="", note="", membrane=None, ports=ports, members=())
    parts = _children(membrane, membrane.ports, controls=controls)
    needed = max(place(content, controls=controls).width, _header(box).width)
    above = lay_out(membrane, membrane.ports, parts, least_width=needed)
    below = _content(content, ports, above.width, controls=controls)
    if below.width > above.width:
        above = lay_out(membrane, membrane.ports, parts, least_width=below.width)
    top = _header(box).height
    seam = top + above.height
    placed_parts = tuple(part.moved(part.x, part.y + top) for part in above.children)
    return PlacedBox(
        box=box,
        x=0,
        y=0,
        width=max(above.width, below.width),
        height=seam + below.height + metrics.FRAME_OF_CONTENT,
        label=_label(box),
        note=_note(box),
        ports=(
            *(placed.lowered(top) for placed in above.ports),
            *(placed.lowered(seam) for placed in below.ports),
        ),
        children=tuple(child.moved(child.x, child.y + seam) for child in below.children),
        wires=tuple(wire.lowered(seam) for wire in below.wires),
        membrane=PlacedMembrane(
            placed_parts, tuple(wire.lowered(top) for wire in above.wires), seam, below.height
        ),
    )


def _content(box: Box, ports: tuple[ScenePort, ...], width: int, *, controls: bool) -> PlacedBox:
    """Place the content of a component that has a membrane, at least as wide as that."""
    if not box.children and not box.links:
        leaf = _leaf(box, ports)
        return leaf.widened(max(width, leaf.width))
    children = _children(box, controls=controls)
    return _around(box, lay_out(box, ports, children, least_width=width))


def _leaf(box: Box, ports: tuple[ScenePort, ...]) -> PlacedBox:
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
    leaves = [child.width for child in children if child.stretches]
    widest = max(leaves, default=0)
    return [
        child.widened(widest)
        if child.stretches and child.width * metrics.STRETCH >= widest
        else child
        for child in children
    ]


def _header(box: Box) -> Size:
    """Return the room that the name, the note and the sign of the box's kind need."""
    name = text_width(_label(box), metrics.TITLE_SIZE, bold=True)
    note = text_width(_note(box), metrics.NOTE_SIZE) if box.note else 0
    aside = metrics.ICON if icon(box.kind) else metrics.PADDING
    width = max(name + 2 * aside, note + 2 * metrics.PADDING)
    if not box.name:  # the content inside a membrane, which has the name
        return Size(metrics.LEAF_MIN_WIDTH, metrics.PADDING)
    return Size(width, metrics.HEADER + (metrics.NOTE_LINE if box.note else 0))


def _label(box: Box) -> str:
    return shortened(box.title, metrics.TITLE_SIZE, bold=True)


def _note(box: Box) -> str:
    return shortened(box.note, metrics.NOTE_SIZE)


def _port_label(port: ScenePort) -> str:
    return shortened(port.caption, metrics.LABEL_SIZE)
