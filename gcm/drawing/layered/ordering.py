"""Orders the items of each column so that few wires cross: barycentres, in sweeps both ways."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from gcm.drawing.layered.crossings import crossings
from gcm.drawing.layered.layer_graph import Edge, LayerGraph, Pin

SWEEPS = 4
EFFORT = 4_000
"""Items times sweeps, beyond which there is one sweep: a picture is worth a second or two."""
BUS = 3
"""The pins on one side of a channel that make a net a bus."""


def order(graph: LayerGraph) -> None:
    """Reorder the graph's columns, and stack them by that order; bands stay one above another.

    Several first orders are improved, by barycentres and by exchanging neighbours, and the one
    with the fewest crossings is kept.
    """
    best: list[list[int]] = []
    fewest = -1
    sweeps = SWEEPS if SWEEPS * len(graph.items) <= EFFORT else 1
    for start in _first_orders(graph)[: 1 if sweeps == 1 else None]:
        for column in graph.columns:
            column.sort(key=lambda item: (graph.items[item].band, start[item]))
            stack(graph, column)
        for sweep in range(sweeps):
            found = crossings(graph)
            if fewest < 0 or found < fewest:
                best, fewest = _snapshot(graph), found
            if not fewest:
                break
            rightward = sweep % 2 == 0
            numbers = range(len(graph.columns))
            for number in numbers if rightward else reversed(numbers):
                _reorder(graph, number, rightward=rightward)
            if sweeps > 1:
                _exchange(graph)
    for column, kept in zip(graph.columns, best, strict=True):
        column[:] = kept
        stack(graph, column)


def _first_orders(graph: LayerGraph) -> list[dict[int, int]]:
    """Return the orders to begin with, as a key for each item.

    That of the document, and those in which a walk along the wires meets the items, from either
    side, so that connected parts come out beside each other.
    """
    met = []
    for backwards in (False, True):
        onward: dict[int, dict[int, None]] = {}
        for edges in graph.channels:
            for edge in edges:
                pair = (edge.right, edge.left) if backwards else (edge.left, edge.right)
                for near in pair[0]:
                    onward.setdefault(near.item, {}).update((far.item, None) for far in pair[1])
        met.append(_walk(graph, onward, backwards=backwards))
    given = {item: item for column in graph.columns for item in column}
    return [given, *met]


def _walk(
    graph: LayerGraph, onward: Mapping[int, Iterable[int]], *, backwards: bool
) -> dict[int, int]:
    """Return when a depth-first walk meets each item."""
    met: dict[int, int] = {}
    columns = reversed(graph.columns) if backwards else graph.columns
    for start in chain.from_iterable(columns):
        waiting = [start]
        while waiting:
            item = waiting.pop()
            if item not in met:
                met[item] = len(met)
                waiting += reversed(list(onward.get(item, ())))
    return met


def _exchange(graph: LayerGraph) -> None:
    """Exchange neighbours for as long as that saves crossings."""
    for number, column in enumerate(graph.columns):
        sides = [_heights(graph, number, of_right=of_right) for of_right in (True, False)]
        exchanged = True
        while exchanged:
            exchanged = False
            for place in range(len(column) - 1):
                upper, lower = column[place], column[place + 1]
                if graph.items[upper].band != graph.items[lower].band:
                    continue
                now = sum(_inversions(side[upper], side[lower]) for side in sides)
                if now and sum(_inversions(side[lower], side[upper]) for side in sides) < now:
                    column[place], column[place + 1] = lower, upper
                    exchanged = True
        stack(graph, column)


def _heights(graph: LayerGraph, number: int, *, of_right: bool) -> dict[int, list[int]]:
    """Return where the wires of each item of a column lead to on one side, sorted."""
    found: dict[int, list[int]] = {item: [] for item in graph.columns[number]}
    channel = number - 1 if of_right else number
    if 0 <= channel < len(graph.channels):
        for edge in graph.channels[channel]:
            near, far = (edge.right, edge.left) if of_right else (edge.left, edge.right)
            heights = [graph.y(pin) for pin in far]
            for pin in near:
                found[pin.item] += heights
    for heights in found.values():
        heights.sort()
    return found


def _inversions(upper: Sequence[int], lower: Sequence[int]) -> int:
    """Return how many pairs of wires cross when one item's are above another's."""
    return sum(bisect_left(lower, height) for height in upper)


def separation(graph: LayerGraph, upper: int, lower: int) -> int:
    """Return the least distance between the tops of two items that follow each other."""
    above, below = graph.items[upper], graph.items[lower]
    return above.height + above.margin + below.margin


def stack(graph: LayerGraph, column: Sequence[int]) -> None:
    """Put the items of a column directly one below another, its boxes centred around zero."""
    top = 0
    for position, item in enumerate(column):
        top += separation(graph, column[position - 1], item) if position else 0
        graph.items[item].top = top
    boxes = [graph.items[item] for item in column if graph.items[item].height]
    if boxes:
        half = (boxes[0].top + boxes[-1].top + boxes[-1].height) // 2
        for item in column:
            graph.items[item].top -= half


def wishes(
    edges: Iterable[Edge], graph: LayerGraph, *, of_right: bool
) -> Iterable[tuple[Pin, int]]:
    """Yield each pin of one side of a channel with the height at which its wire arrives.

    On a bus, which has many pins, boxes look at boxes only, and passing wires at passing wires:
    where its trunk comes from says nothing about where its branches should be.
    """
    for edge in edges:
        near, far = (edge.right, edge.left) if of_right else (edge.left, edge.right)
        if max(len(near), len(far)) < BUS:
            groups = [(near, far)]
        else:
            groups = list(zip(_by_class(near, graph), _by_class(far, graph), strict=True))
        for pins, others in groups:
            if others:
                middle = _middle([graph.y(pin) for pin in others])
                yield from ((pin, middle) for pin in pins)


def turns(edges: Iterable[Edge], graph: LayerGraph, *, of_right: bool) -> Iterable[tuple[Pin, int]]:
    """Yield each pin of a wire that turns back in a channel, with the middle of its pins."""
    for edge in edges:
        near, far = (edge.right, edge.left) if of_right else (edge.left, edge.right)
        if not far:
            middle = _middle([graph.y(pin) for pin in near])
            yield from ((pin, middle) for pin in near)


def _middle(heights: list[int]) -> int:
    """Return the median; of two heights the upper one, so that one of the wires runs straight."""
    heights.sort()
    half = len(heights) // 2
    if len(heights) % 2:
        return heights[half]
    if len(heights) == 2:
        return heights[0]
    return (heights[half - 1] + heights[half]) // 2


def _by_class(pins: Sequence[Pin], graph: LayerGraph) -> tuple[tuple[Pin, ...], tuple[Pin, ...]]:
    boxes = tuple(pin for pin in pins if graph.items[pin.item].height)
    passing = tuple(pin for pin in pins if not graph.items[pin.item].height)
    return boxes, passing


def _snapshot(graph: LayerGraph) -> list[list[int]]:
    return [list(column) for column in graph.columns]


def _reorder(graph: LayerGraph, number: int, *, rightward: bool) -> None:
    channel = number - 1 if rightward else number
    if not 0 <= channel < len(graph.channels):
        return
    column = graph.columns[number]
    wanted: dict[int, list[int]] = {}
    edges = graph.channels[channel]
    for pin, height in chain(
        wishes(edges, graph, of_right=rightward), turns(edges, graph, of_right=rightward)
    ):
        wanted.setdefault(pin.item, []).append(height - pin.offset)
    keys = {}
    for item in column:
        it = graph.items[item]
        tops = wanted.get(item, [it.top])
        keys[item] = (it.band, sum(tops) / len(tops) + it.height / 2)
    column.sort(key=keys.__getitem__)
    stack(graph, column)


T = TypeVar("T")

PRIME = 65_537
"""A Fermat prime: all odd powers permute the numbers below it."""


def shuffled(values: Sequence[T], seed: int) -> list[T]:
    """Return the values in an order that looks random, another one for each `seed`.

    >>> ["".join(shuffled("abcdef", seed)) for seed in (0, 1, 2)]
    ['dbefac', 'ecafdb', 'cfeadb']
    """
    places = range(len(values))
    return [values[place] for place in sorted(places, key=lambda place: _mixed(place, seed))]


def _mixed(place: int, seed: int) -> int:
    return pow(3 * place + 1000, 2 * seed + 3, PRIME)
