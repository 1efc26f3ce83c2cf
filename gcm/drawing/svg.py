"""Writes a placed scene as SVG text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape as escape_markup

from gcm.drawing import metrics
from gcm.drawing.geometry import DrawnWire, PlacedBox, PlacedPort
from gcm.drawing.legend import Key, legend
from gcm.drawing.routing import Point
from gcm.drawing.scene import THIS
from gcm.drawing.shapes import icon, inner_face, outer_face, port_class
from gcm.drawing.style import stylesheet


def svg(root: PlacedBox, *, title: str = "") -> str:
    """Return the picture of a placed root box, with a heading where `title` is given."""
    frame = metrics.FRAME
    heading = metrics.shortened(title, metrics.HEADING_SIZE, bold=True, limit=_widest(root))
    top = frame + (metrics.HEADING_SIZE + frame // 2 if title else 0)
    keys, key_height = legend(root, width=_widest(root))
    key_width = max(
        (key.x + metrics.text_width(key.text, metrics.LABEL_SIZE) + 26 for key in keys), default=0
    )
    width = max(root.width, key_width) + 2 * frame
    key_top = top + root.height + frame
    height = key_top + key_height + frame // 2
    lines = [text("heading", frame, frame + metrics.HEADING_SIZE, heading)] if title else []
    lines += _box(root.moved(frame, top), "", 0)
    lines.append(f'<g transform="translate({frame} {key_top})">')
    lines += [line for key in keys for line in _key(key)]
    lines.append("</g>")
    return document(
        lines,
        width=width,
        height=height,
        title=title or root.box.name,
        description=_description(root),
    )


def _widest(root: PlacedBox) -> int:
    return max(root.width, 420)


def _description(root: PlacedBox) -> str:
    components = bindings = levels = 0
    waiting = [(root, 1, 1)]
    while waiting:
        placed, depth, times = waiting.pop()
        times *= len(placed.box.members) or 1
        components += times
        bindings += times * sum(wire.link.count for wire in placed.wires)
        levels = max(levels, depth)
        waiting += [(child, depth + 1, times) for child in placed.children]
    return (
        f"The component {root.box.name}: {_many(components, 'component')} on "
        f"{_many(levels, 'level')}, {_many(bindings, 'binding')}."
    )


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _box(placed: PlacedBox, parent: str, depth: int) -> Iterator[str]:
    box = placed.box
    path = f"{parent}/{box.title}"
    is_composite = bool(placed.children or placed.wires)
    told = [word for word in (box.kind, "shared" if box.shared else "", box.note) if word]
    yield f'<g transform="translate({placed.x} {placed.y})">'
    yield f"<title>{escape(path)}: {escape(', '.join(told))}</title>"
    shade = (" odd" if depth % 2 else " even") if box.kind == "composite" else ""
    classes = f"box {box.kind}{' shared' if box.shared else ''}"
    radius = 10 if is_composite or placed.membrane else 6
    for behind in (2, 1) if box.members else ():
        away = behind * metrics.STACK
        yield rectangle(f"{classes}{shade}", placed.width, placed.height, radius, x=away, y=-away)
    if placed.membrane is None:
        yield rectangle(f"{classes}{shade}", placed.width, placed.height, radius)
    else:
        yield rectangle(f"{classes} membrane", placed.width, placed.height, radius)
        frame = metrics.FRAME_OF_CONTENT
        width, height = placed.width - 2 * frame, placed.membrane.content_height
        top = placed.membrane.content_top
        yield rectangle(f"{box.kind}{shade} content", width, height, 6, x=frame, y=top)
        yield from (_wire(wire, path) for wire in placed.membrane.wires)
    yield from _header(placed, at_left=is_composite or placed.membrane is not None)
    for wire in placed.wires:
        yield _wire(wire, path)
    for child in placed.inside:
        yield from _box(child, path, depth + 1)
    for port in placed.ports:
        yield from _port(port, path, is_framed=placed.membrane is not None)
    yield "</g>"


def _header(placed: PlacedBox, *, at_left: bool) -> Iterator[str]:
    x = metrics.PADDING if at_left else placed.width // 2
    anchor = "start" if at_left else "middle"
    yield text("name", x, 19, placed.label, anchor)
    if placed.note:
        yield text("note", x, 19 + metrics.NOTE_LINE, placed.note, anchor)
    if icon(placed.box.kind):
        yield _icon(placed.box.kind, placed.width - 20, 8)


def _icon(kind: str, x: int, y: int) -> str:
    return f'<path class="icon {kind}-icon" transform="translate({x} {y})" d="{icon(kind)}"/>'


def _wire(wire: DrawnWire, path: str) -> str:
    ends = [
        escape(_end(path, component, name))
        for component, name in (wire.link.client, wire.link.server)
    ]
    times = f" ({wire.link.count} bindings)" if wire.link.count > 1 else ""
    many = " many" if times else ""
    return (
        f'<path class="wire wire{wire.colour}{many}" d="{rounded(wire.points)}">'
        f"<title>{ends[0]} → {ends[1]}{times}</title></path>"
    )


def _end(path: str, component: str, name: str) -> str:
    owner = path if component == THIS else f"{path}/{component}"
    return f"{owner}.{name}" if name else owner


def rounded(points: tuple[Point, ...]) -> str:
    """Return the path through the points, with round corners.

    >>> rounded((Point(0, 0), Point(20, 0), Point(20, 30)))
    'M0 0L14 0Q20 0 20 6L20 30'
    """
    path = f"M{points[0].x} {points[0].y}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(metrics.CORNER, _distance(before, corner) // 2, _distance(corner, after) // 2)
        start, end = _towards(corner, before, radius), _towards(corner, after, radius)
        path += f"L{start.x} {start.y}Q{corner.x} {corner.y} {end.x} {end.y}"
    return f"{path}L{points[-1].x} {points[-1].y}"


def _distance(one: Point, other: Point) -> int:
    return abs(one.x - other.x) + abs(one.y - other.y)


def _towards(start: Point, target: Point, distance: int) -> Point:
    def step(here: int, there: int) -> int:
        return here + distance * ((there > here) - (there < here))

    return Point(step(start.x, target.x), step(start.y, target.y))


def _port(placed: PlacedPort, path: str, *, is_framed: bool) -> Iterator[str]:
    port = placed.port
    told = [f"{port.role} interface"]
    told += [port.cardinality] if port.cardinality != "singleton" else []
    told += ["optional"] if port.optional else []
    told += ["control"] if port.is_control else []
    told += [f"intercepted by {', '.join(port.interceptors)}"] if port.interceptors else []
    yield f'<g transform="translate({placed.at.x} {placed.at.y})">'
    yield f"<title>{escape(_end(path, THIS, port.name))}: {', '.join(told)}</title>"
    if not port.is_internal:
        yield _shape(port_class(port), *outer_face(port, composite=placed.two_faced))
    if placed.two_faced:
        yield _shape(port_class(port), *inner_face(port))
    frame = metrics.FRAME_OF_CONTENT if is_framed else 0
    indent = metrics.INNER_INDENT if placed.two_faced else metrics.LABEL_INDENT + frame
    x = indent if port.on_left else -indent
    yield text("label", x, -5 if placed.two_faced else 4, placed.label, _anchor(placed))
    yield "</g>"


def _anchor(placed: PlacedPort) -> str:
    return "start" if placed.port.on_left else "end"


def _shape(classes: str, path: str, is_funnel: bool) -> str:
    return f'<path class="{classes}{" funnel" if is_funnel else ""}" d="{path}"/>'


def _key(key: Key) -> Iterator[str]:
    if key.sample == "":
        yield text("key", key.x, key.y + 11, key.text)
        return
    if isinstance(key.sample, str):
        yield rectangle(f"box {key.sample}", 18, 13, 3, x=key.x, y=key.y)
    else:
        x = key.x + (15 if key.sample.on_left else 3)
        path, is_funnel = outer_face(key.sample, composite=False)
        yield f'<g transform="translate({x} {key.y + 7})">'
        yield _shape(port_class(key.sample), path, is_funnel)
        yield "</g>"
    yield text("key", key.x + 24, key.y + 11, key.text)


_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """Return the text for use in XML; what XML cannot hold becomes the replacement character."""
    return escape_markup(_ILLEGAL.sub("\ufffd", text), {'"': "&quot;"})


def text(classes: str, x: int, y: int, words: str, anchor: str = "start") -> str:
    """Return a line of text."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{classes}" x="{x}" y="{y}"{where}>{escape(words)}</text>'


def rectangle(classes: str, width: int, height: int, radius: int, *, x: int = 0, y: int = 0) -> str:
    """Return a rectangle with round corners."""
    at = f'x="{x}" y="{y}" ' if x or y else ""
    return f'<rect class="{classes}" {at}width="{width}" height="{height}" rx="{radius}"/>'


class SvgPicture(str):
    """The text of an SVG document, which notebooks show as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def document(
    lines: Iterable[str], *, width: int, height: int, title: str, description: str
) -> SvgPicture:
    """Return a whole picture; screen readers tell its title and description."""
    return SvgPicture(
        "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" '
                f'height="{height}" viewBox="0 0 {width} {height}">',
                f"<title>{escape(title)}</title>",
                f"<desc>{escape(description)}</desc>",
                f"<style>\n{stylesheet()}\n</style>",
                f'<rect class="ground" width="{width}" height="{height}"/>',
                *lines,
                "</svg>",
                "",
            ]
        )
    )
