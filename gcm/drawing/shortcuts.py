"""Bindings from one port of a border to another of the same: they run along the border itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gcm.drawing import metrics
from gcm.drawing.routing import Point, simplified
from gcm.drawing.scene import THIS, SceneLink, ScenePort

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
