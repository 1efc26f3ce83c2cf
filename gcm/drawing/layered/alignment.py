"""Gives items their heights, so that wires run straight where the order of the columns allows."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.drawing.layered.layer_graph import LayerGraph
from gcm.drawing.layered.ordering import EFFORT, separation, wishes

SWEEPS = 5
INERTIA = 0.5
"""How much an item that nothing pulls wants to stay, compared to one that is pulled."""


def align(graph: LayerGraph) -> int:
    """Place all items, keeping each column's order; return the height of it all, from zero on.

    The columns come stacked and centred. No item is pulled out of the heights that they take up
    now: a straight wire is not worth a picture twice as tall.
    """
    window = _window(graph)
    numbers = range(len(graph.columns))
    for sweep in range(SWEEPS if len(graph.items) * SWEEPS <= EFFORT else 1):
        rightward = sweep % 2 == 1
        for number in numbers if rightward else reversed(numbers):
            _align_column(graph, number, window, rightward=rightward)
    highest, lowest = _window(graph)
    for item in graph.items:
        item.top -= highest
    return lowest - highest


def _window(graph: LayerGraph) -> tuple[int, int]:
    """Return the least and the greatest height that any item reaches."""
    highest = min((item.top for item in graph.items), default=0)
    return highest, max((item.top + item.height for item in graph.items), default=0)


def _align_column(
    graph: LayerGraph, number: int, window: tuple[int, int], *, rightward: bool
) -> None:
    """Move a column's items towards what they are connected to on one side."""
    channel = number - 1 if rightward else number
    if not 0 <= channel < len(graph.channels):
        return
    wanted: dict[int, list[int]] = {}
    for pin, height in wishes(graph.channels[channel], graph, of_right=rightward):
        wanted.setdefault(pin.item, []).append(height - pin.offset)
    column = graph.columns[number]
    shift = 0
    shifts, desired, weights = [], [], []
    for position, number_of_item in enumerate(column):
        item = graph.items[number_of_item]
        shift += separation(graph, column[position - 1], number_of_item) if position else 0
        choices = sorted(wanted.get(number_of_item, ()))
        top = choices[(len(choices) - 1) // 2] if choices else item.top
        top = max(window[0], min(top, window[1] - item.height))
        shifts.append(shift)
        desired.append(top - shift)
        weights.append(item.weight if choices else INERTIA * item.weight)
    for number_of_item, level, down in zip(column, monotone(desired, weights), shifts, strict=True):
        graph.items[number_of_item].top = level + down


def monotone(values: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Return never-decreasing whole numbers nearest to the values, by weighted distances.

    Neighbours that would decrease are pooled at their median: that leaves most wires of a pool
    straight, where a mean would bend them all a little.

    >>> monotone([1, 7, 3, 4, 9], [1, 1, 1, 1, 1])
    [1, 4, 4, 4, 9]
    """
    pools: list[tuple[int, float, list[tuple[int, float]]]] = []
    for value, weight in zip(values, weights, strict=True):
        level, total, members = value, weight, [(value, weight)]
        while pools and pools[-1][0] > level:
            _, its_total, its_members = pools.pop()
            members = sorted(its_members + members)
            total += its_total
            level = _median(members, total)
        pools.append((level, total, members))
    return [level for level, _, members in pools for _ in members]


def _median(members: Sequence[tuple[int, float]], total: float) -> int:
    """Return the weighted median of sorted members, the middle of two where they balance."""
    missing = total / 2
    for position, (value, weight) in enumerate(members):
        missing -= weight
        if missing < 0:
            return value
        if missing == 0:
            return (value + members[position + 1][0]) // 2
    raise AssertionError("the weights of a pool are positive")
