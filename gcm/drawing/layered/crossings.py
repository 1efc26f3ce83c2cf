"""Counts where wires cross in the channels of a graph, before they have their places."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gcm.drawing.layered.layer_graph import Edge, LayerGraph, Pin


class Span(NamedTuple):
    """One net inside one channel: the heights it connects on both sides, each sorted."""

    net: int
    top: int
    bottom: int
    left: tuple[int, ...]
    right: tuple[int, ...]


def spans_of(graph: LayerGraph, edges: Iterable[Edge]) -> list[Span]:
    """Return the span of each edge with the present heights."""
    return [_span(graph, edge) for edge in edges]


def crossed(first: Span, second: Span) -> int:
    """Return how often two nets cross when the first one's track is left of the second's."""
    return _between(first.right, second.top, second.bottom) + _between(
        second.left, first.top, first.bottom
    )


def crossings(graph: LayerGraph, channels: Iterable[int] | None = None) -> int:
    """Count the crossings in some channels of a graph, in all of them unless told.

    Each two nets count with the better order of their two tracks: that nearly always is the one
    that they get.
    """
    numbers = range(len(graph.channels)) if channels is None else channels
    return sum(_in_channel(spans_of(graph, graph.channels[number])) for number in numbers)


def _in_channel(spans: list[Span]) -> int:
    spans.sort(key=lambda span: span.top)
    total = 0
    for place, first in enumerate(spans):
        bottom = first.bottom
        for second in spans[place + 1 :]:
            if second.top > bottom:
                break
            found = crossed(first, second)
            total += found and min(found, crossed(second, first))
    return total


def _span(graph: LayerGraph, edge: Edge) -> Span:
    left, right = _heights(graph, edge.left), _heights(graph, edge.right)
    both = (*left, *right)
    return Span(edge.net, min(both), max(both), left, right)


def _heights(graph: LayerGraph, pins: Sequence[Pin]) -> tuple[int, ...]:
    items = graph.items
    if len(pins) == 1:
        return (items[pins[0].item].top + pins[0].offset,)
    return tuple(sorted(items[item].top + offset for item, offset in pins))


def _between(heights: tuple[int, ...], top: int, bottom: int) -> int:
    if len(heights) == 1:
        return top <= heights[0] <= bottom
    return bisect_right(heights, bottom) - bisect_left(heights, top)
