"""The geometry of a picture: boxes, ports and wires, each relative to the box around it."""

from __future__ import annotations

from dataclasses import replace

from gcm.drawing import metrics
from gcm.drawing.routing import Point
from gcm.drawing.scene import Box, SceneLink, ScenePort
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class PlacedPort:
    """A port and the point of the border it sits on; `two_faced` ones are seen from inside too."""

    port: ScenePort
    at: Point
    label: str
    two_faced: bool = False

    @property
    def outer(self) -> Point:
        """Return where a wire outside the box touches the port."""
        return self._beside(-metrics.STEM if self.port.on_left else metrics.STEM)

    @property
    def inner(self) -> Point:
        """Return where a wire inside the composite touches the port."""
        return self._beside(metrics.STEM if self.port.on_left else -metrics.STEM)

    def lowered(self, distance: int) -> PlacedPort:
        """Return the same port further down."""
        return replace(self, at=Point(self.at.x, self.at.y + distance))

    def _beside(self, distance: int) -> Point:
        return Point(self.at.x + distance, self.at.y)


@dataclass(frozen=True, slots=True)
class DrawnWire:
    """A drawn binding: its corners from client to server, and the number of its colour.

    Zero is for nets that run straight, which need no colour to be followed.
    """

    link: SceneLink
    colour: int
    points: tuple[Point, ...]

    def lowered(self, distance: int) -> DrawnWire:
        """Return the same wire further down."""
        return replace(self, points=tuple(Point(x, y + distance) for x, y in self.points))


@dataclass(frozen=True, slots=True)
class PlacedMembrane:
    """What is inside the membrane of a box, and where the membrane ends and the content begins."""

    parts: tuple[PlacedBox, ...]
    wires: tuple[DrawnWire, ...]
    content_top: int
    content_height: int


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box with its size, and its corner inside the box around it."""

    box: Box
    x: int
    y: int
    width: int
    height: int
    label: str
    note: str
    ports: tuple[PlacedPort, ...] = ()
    children: tuple[PlacedBox, ...] = ()
    wires: tuple[DrawnWire, ...] = ()
    membrane: PlacedMembrane | None = None

    @property
    def inside(self) -> tuple[PlacedBox, ...]:
        """Return all that is drawn inside: what is in the membrane, and the children."""
        return (*(self.membrane.parts if self.membrane else ()), *self.children)

    @property
    def stretches(self) -> bool:
        """Return whether the box can become wider without moving anything in it."""
        return not (self.children or self.wires or self.membrane)

    def moved(self, x: int, y: int) -> PlacedBox:
        """Return the same box at another place."""
        return replace(self, x=x, y=y)

    def widened(self, width: int) -> PlacedBox:
        """Return the same leaf with another width; its right ports move with the border."""
        ports = tuple(
            placed if placed.port.on_left else replace(placed, at=Point(width, placed.at.y))
            for placed in self.ports
        )
        return replace(self, width=width, ports=ports)
