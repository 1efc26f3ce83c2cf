"""Gives items their heights, so that wires run straight where the order of the columns allows."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.drawing.board import Board
from gcm.drawing.ordering import separation, wishes

SWEEPS = 6
INERTIA = 0.25
"""How much an item that nothing pulls wants to stay, against 1 of a box that is pulled."""


def align(board: Board) -> int:
    """Place all items, keeping each column's order; return the height of it all, from zero on."""
    numbers = range(len(board.columns))
    for sweep in range(SWEEPS):
        rightward = sweep % 2 == 0
        for number in numbers if rightward else reversed(numbers):
            sides = (True, False) if sweep == SWEEPS - 1 else (rightward,)
            _align_column(board, number, sides)
    highest = min((item.top for item in board.items), default=0)
    for item in board.items:
        item.top -= highest
    return max((item.top + item.height for item in board.items), default=0)


def _align_column(board: Board, number: int, sides: tuple[bool, ...]) -> None:
    """Move a column's items towards what they are connected to, on the given sides."""
    column = board.columns[number]
    wanted: dict[int, list[int]] = {}
    for of_right in sides:
        channel = number - 1 if of_right else number
        if 0 <= channel < len(board.channels):
            for pin, height in wishes(board.channels[channel], board, of_right=of_right):
                wanted.setdefault(pin.item, []).append(height - pin.offset)
    if not wanted:
        return
    shifts = [0]
    for upper, lower in zip(column, column[1:], strict=False):
        shifts.append(shifts[-1] + separation(board, upper, lower))
    tops = []
    weights = []
    for item in column:
        choices = sorted(wanted.get(item, ()))
        middle = choices[(len(choices) - 1) // 2] if choices else board.items[item].top
        tops.append(middle)
        weights.append(board.items[item].weight if choices else INERTIA)
    desired = [top - shift for top, shift in zip(tops, shifts, strict=True)]
    for item, level, shift in zip(column, monotone(desired, weights), shifts, strict=True):
        board.items[item].top = level + shift


def monotone(values: Sequence[float], weights: Sequence[float]) -> list[int]:
    """Return the never-decreasing whole numbers nearest to the values, by weighted squares.

    The pooling of neighbours that would decrease, in linear time.

    >>> monotone([1, 5, 3, 9], [1, 1, 1, 1])
    [1, 4, 4, 9]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, total, count = float(value), float(weight), 1
        while blocks and blocks[-1][0] >= mean:
            before, its_weight, its_count = blocks.pop()
            mean = (mean * total + before * its_weight) / (total + its_weight)
            total += its_weight
            count += its_count
        blocks.append((mean, total, count))
    return [int(mean // 1) for mean, _, count in blocks for _ in range(count)]
