"""The layer graph of a composite: columns of items, and links as nets that run between columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import NamedTuple

from gcm.drawing.metrics import CROSSING_MARGIN
from gcm.drawing.scene import SceneLink
from gcm.records import dataclass

CROSSING_WEIGHT = 2
"""How much more a wire that passes wants to be straight than a box wants to be in line."""


@dataclass(slots=True)
class Item:
    """What takes height in a column: a box, a port of the composite, or a wire passing through."""

    height: int
    margin: int
    weight: int
    band: float = 0.0
    top: int = 0


class Pin(NamedTuple):
    """A point on the side of an item where a wire ends, measured from the item's top."""

    item: int
    offset: int


class End(NamedTuple):
    """An end of a link: a pin, and the channel it opens to."""

    pin: Pin
    channel: int


@dataclass(frozen=True, slots=True)
class Edge:
    """The part of one net inside one channel: its pins on the channel's two sides."""

    net: int
    left: tuple[Pin, ...]
    right: tuple[Pin, ...]


@dataclass(frozen=True, slots=True)
class DrawnRoute:
    """The way of one link: the pins it visits, and the channel between each two of them."""

    link: SceneLink
    net: int
    pins: tuple[Pin, ...]
    channels: tuple[int, ...]


@dataclass(slots=True)
class LayerGraph:
    """Items in columns; channel k lies between the columns k and k + 1.

    The first and the last column hold the composite's own ports.
    """

    items: list[Item] = field(default_factory=list)
    columns: list[list[int]] = field(default_factory=list)
    channels: list[list[Edge]] = field(default_factory=list)
    routes: list[DrawnRoute] = field(default_factory=list)

    def y(self, pin: Pin) -> int:
        """Return the present height of a pin."""
        return self.items[pin.item].top + pin.offset


def connect(
    graph: LayerGraph, links: Sequence[SceneLink], ends: Mapping[tuple[str, str], End]
) -> None:
    """Add the links to a graph that has its boxes: their nets, and the items they pass as.

    Links that share an end form one net, which is drawn like a bus: one trunk with branches. It
    passes each column once, as an item of that column, and so never runs through a box.
    """
    degree = Counter(ends[link.client] for link in links)
    degree.update(ends[link.server] for link in links)
    nets: dict[End, int] = {}
    sides: dict[tuple[int, int], tuple[dict[Pin, None], dict[Pin, None]]] = {}
    passes: dict[tuple[int, int], Pin] = {}
    column_of = {item: column for column, items in enumerate(graph.columns) for item in items}
    for link in links:
        start, end = ends[link.client], ends[link.server]
        net = nets.setdefault(start if degree[start] >= degree[end] else end, len(nets))
        band = (graph.items[start.pin.item].band + graph.items[end.pin.item].band) / 2
        pins = [start.pin]
        for column in _crossed(start.channel, end.channel):
            if (net, column) not in passes:
                passes[net, column] = Pin(len(graph.items), 0)
                column_of[len(graph.items)] = column
                graph.columns[column].append(len(graph.items))
                graph.items.append(Item(0, CROSSING_MARGIN, CROSSING_WEIGHT, band))
            pins.append(passes[net, column])
        pins.append(end.pin)
        channels = _visited(start.channel, end.channel)
        graph.routes.append(DrawnRoute(link, net, tuple(pins), channels))
        for channel, pair in zip(channels, pairwise(pins), strict=True):
            both = sides.setdefault((net, channel), ({}, {}))
            for pin in pair:
                both[column_of[pin.item] != channel][pin] = None
    graph.channels = [[] for _ in graph.columns[1:]]
    for (net, channel), (left, right) in sides.items():
        graph.channels[channel].append(Edge(net, tuple(left), tuple(right)))


def _visited(start: int, end: int) -> tuple[int, ...]:
    step = 1 if start <= end else -1
    return tuple(range(start, end + step, step))


def _crossed(start: int, end: int) -> range:
    """Return the columns on the way from one channel to another."""
    return range(start + 1, end + 1) if start <= end else range(start, end, -1)
