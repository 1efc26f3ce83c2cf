"""The small shapes: what a port looks like by its cardinality, and the signs of the box kinds."""

from __future__ import annotations

from gcm.drawing.metrics import STEM
from gcm.drawing.scene import ScenePort

SPREAD = 6
"""Half the height of a fan, a funnel or a bar."""

_ICONS = {
    # A turning arrow: it has a thread of its own.
    "active": "M10.5 3.2A5 5 0 1 0 12 7M10.9 0.6v2.9h-2.9",
    # A prompt: it wraps a process.
    "wrapper": "M1 2l4 4l-4 4M7 11h5",
    # One over two: it stands for a cluster.
    "clustering": "M6.5 3.5L2.5 9M6.5 3.5L10.5 9M5 2h3v3h-3zM1 8.5h3v3h-3zM9 8.5h3v3h-3z",
}


def icon(kind: str) -> str:
    """Return the path of the sign for a kind of box, 13 pixels square; empty for plain kinds."""
    return _ICONS.get(kind, "")


def port_class(port: ScenePort) -> str:
    """Return the style classes of a port."""
    colour = "control" if port.is_control else "server" if port.on_left else "client"
    return f"port {colour} optional" if port.optional else f"port {colour}"


def outer_face(port: ScenePort, *, composite: bool) -> tuple[str, bool]:
    """Return the path of the shape outside the border, and whether it is a filled funnel.

    Calls flow from left to right, so that a fan always opens to the right and a funnel to the
    left. A composite spreads the calls to a multicast server, and gathers those to a gathercast
    client, on the inner side.
    """
    inside = composite and port.on_left == (port.cardinality == "multicast")
    return _face(port, outward=-1 if port.on_left else 1, plain=inside)


def inner_face(port: ScenePort) -> tuple[str, bool]:
    """Return the path of a composite's port inside the border, and whether it is a funnel."""
    outside = port.on_left != (port.cardinality == "multicast")
    return _face(port, outward=1 if port.on_left else -1, plain=outside)


def _face(port: ScenePort, *, outward: int, plain: bool) -> tuple[str, bool]:
    tip = outward * STEM
    if port.cardinality == "multicast" and not plain:
        apex, mouth = (0, tip) if outward > 0 else (tip, 0)
        prongs = "".join(f"M{apex} 0L{mouth} {y}" for y in (-SPREAD, 0, SPREAD))
        return prongs, False
    if port.cardinality == "gathercast" and not plain:
        apex, mouth = (tip, 0) if outward > 0 else (0, tip)
        return f"M{mouth} {-SPREAD}L{apex} 0L{mouth} {SPREAD}Z", True
    path = f"M0 0H{tip}M{tip} {-SPREAD + 1}V{SPREAD - 1}"
    if port.cardinality == "collection":
        path += f"M{tip - 4 * outward} {-SPREAD + 1}V{SPREAD - 1}"
    return path, False
