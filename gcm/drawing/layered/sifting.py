"""Moves single items of ordered columns to where the fewest wires cross."""

from __future__ import annotations

from gcm.drawing.layered.crossings import crossings
from gcm.drawing.layered.layer_graph import LayerGraph
from gcm.drawing.layered.ordering import stack

PASSES = 4
SEVERAL = 400
"""Graphs with more items stay as they are: each place of each item is tried."""


def improve(graph: LayerGraph) -> None:
    """Try each item at each place of its column and band, and keep what saves crossings."""
    if len(graph.items) > SEVERAL:
        return
    for turn in range(PASSES):
        numbers = range(len(graph.columns))
        moved = [_sift(graph, number) for number in (reversed(numbers) if turn % 2 else numbers)]
        if not any(moved):
            return


def _sift(graph: LayerGraph, number: int) -> bool:
    """Move the items of one column; return whether that saved any crossings."""
    column = graph.columns[number]
    beside = [channel for channel in (number - 1, number) if 0 <= channel < len(graph.channels)]
    moved = False
    now = crossings(graph, beside)
    for item in list(column):
        if not now:
            break
        here = column.index(item)
        others = column[:here] + column[here + 1 :]
        best, kept = now, column[:]
        for place in _places(graph, others, item):
            tried = [*others[:place], item, *others[place:]]
            stack(graph, tried)
            found = crossings(graph, beside)
            if found < best:
                best, kept = found, tried
        moved |= best < now
        now = best
        column[:] = kept
        stack(graph, column)
    return moved


def _places(graph: LayerGraph, others: list[int], item: int) -> range:
    """Return the places in a column where an item is in its band."""
    band = graph.items[item].band
    bands = [graph.items[other].band for other in others]
    return range(sum(other < band for other in bands), sum(other <= band for other in bands) + 1)
