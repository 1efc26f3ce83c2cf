"""Moves single items of ordered columns to where the fewest wires cross."""

from __future__ import annotations

from gcm.drawing.layered.board import Board
from gcm.drawing.layered.crossings import crossings
from gcm.drawing.layered.ordering import stack

PASSES = 4
SEVERAL = 400
"""Boards with more items stay as they are: each place of each item is tried."""


def improve(board: Board) -> None:
    """Try each item at each place of its column and band, and keep what saves crossings."""
    if len(board.items) > SEVERAL:
        return
    for turn in range(PASSES):
        numbers = range(len(board.columns))
        moved = [_sift(board, number) for number in (reversed(numbers) if turn % 2 else numbers)]
        if not any(moved):
            return


def _sift(board: Board, number: int) -> bool:
    """Move the items of one column; return whether that saved any crossings."""
    column = board.columns[number]
    beside = [channel for channel in (number - 1, number) if 0 <= channel < len(board.channels)]
    moved = False
    now = crossings(board, beside)
    for item in list(column):
        if not now:
            break
        here = column.index(item)
        others = column[:here] + column[here + 1 :]
        best, kept = now, column[:]
        for place in _places(board, others, item):
            tried = [*others[:place], item, *others[place:]]
            stack(board, tried)
            found = crossings(board, beside)
            if found < best:
                best, kept = found, tried
        moved |= best < now
        now = best
        column[:] = kept
        stack(board, column)
    return moved


def _places(board: Board, others: list[int], item: int) -> range:
    """Return the places in a column where an item is in its band."""
    band = board.items[item].band
    bands = [board.items[other].band for other in others]
    return range(sum(other < band for other in bands), sum(other <= band for other in bands) + 1)
