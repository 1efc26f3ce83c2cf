"""Runs the wires: a vertical track per net in each channel, and the corners of each link's way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gcm.drawing.layered.crossings import Span, crossed, spans_of
from gcm.drawing.layered.layer_graph import DrawnRoute, Edge, LayerGraph

CLEARANCE = 8
"""How far two wires on the same track stay apart."""
PASSES = 12
OVERLAP_COST = 50
"""How many crossings are better than two wires that run over each other."""


class Point(NamedTuple):
    """A place in the picture, from the top left corner of the box it belongs to."""

    x: int
    y: int


def tracks_of(graph: LayerGraph, edges: Iterable[Edge]) -> dict[int, int]:
    """Return the track, counted from the left, of each net that moves up or down in a channel."""
    moving = [span for span in spans_of(graph, edges) if span.top < span.bottom]
    # A wire that turns back hugs the side that it comes from.
    sides = (
        [span for span in moving if not span.right],
        [span for span in moving if span.left and span.right],
        [span for span in moving if not span.left],
    )
    return _pack([span for side in sides for span in _fewest_crossings(side)])


def corners(
    route: DrawnRoute,
    graph: LayerGraph,
    tracks: Sequence[Mapping[int, int]],
    track_x: Sequence[Sequence[int]],
) -> list[Point]:
    """Return where a link turns on its way, from track to track, without its two ends."""
    points: list[Point] = []
    for channel, here, there in zip(route.channels, route.pins, route.pins[1:], strict=False):
        track = tracks[channel].get(route.net)
        if track is not None:
            x = track_x[channel][track]
            points += [Point(x, graph.y(here)), Point(x, graph.y(there))]
    return points


def simplified(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the same line without repeated points and without points on a straight."""
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        while len(kept) > 1 and _straight(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return tuple(kept)


def _straight(first: Point, second: Point, third: Point) -> bool:
    return first.x == second.x == third.x or first.y == second.y == third.y


def _cost(first: Span, second: Span) -> int:
    """Return how bad it is that the first net's track is left of the second's."""
    return crossed(first, second) + OVERLAP_COST * len(set(first.right) & set(second.left))


def _nesting(span: Span) -> int:
    """Order wires so that those that go down nest from right to left, and up from left to right."""
    if span.left and span.right:
        return span.left[0] if span.left[0] > span.right[0] else -span.left[0]
    return span.bottom - span.top if span.left else span.top - span.bottom


def _fewest_crossings(spans: list[Span]) -> list[Span]:
    """Order nets by swapping neighbours for as long as that saves crossings."""
    spans = sorted(spans, key=_nesting)
    for _ in range(PASSES):
        swapped = False
        for here in range(len(spans) - 1):
            first, second = spans[here], spans[here + 1]
            if _cost(second, first) < _cost(first, second):
                spans[here], spans[here + 1] = second, first
                swapped = True
        if not swapped:
            break
    return spans


def _pack(spans: list[Span]) -> dict[int, int]:
    """Give each net the leftmost track right of all earlier nets that it would touch.

    `next_free` holds, for each slice of the height, the first track that no net has reached yet.
    """
    if not spans:
        return {}
    origin = min(span.top for span in spans) - CLEARANCE
    slices = (max(span.bottom for span in spans) - origin) // CLEARANCE + 2
    next_free = [0] * slices
    tracks: dict[int, int] = {}
    for span in spans:
        first, last = (span.top - origin) // CLEARANCE, (span.bottom - origin) // CLEARANCE
        track = max(next_free[first - 1 : last + 2])
        next_free[first : last + 1] = [track + 1] * (last + 1 - first)
        tracks[span.net] = track
    return tracks
