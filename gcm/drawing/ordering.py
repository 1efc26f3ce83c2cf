"""Orders the items of each column so that few wires cross: barycentres, in sweeps both ways."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import chain

from gcm.drawing.board import Board, Pin, Strand

SWEEPS = 8
EFFORT = 24_000
"""Items times sweeps, beyond which there are fewer sweeps: a picture is worth a second or two."""
BUS = 3
"""The pins on one side of a channel that make a net a bus."""


def order(board: Board) -> None:
    """Reorder the board's columns, and stack them by that order; bands stay one above another."""
    for column in board.columns:
        column.sort(key=lambda item: board.items[item].band)
        stack(board, column)
    best, fewest = _snapshot(board), crossings(board)
    sweeps = SWEEPS if SWEEPS * len(board.items) <= EFFORT else 1
    for sweep in range(sweeps):
        if not fewest:
            break
        rightward = sweep % 2 == 0
        numbers = range(len(board.columns))
        for number in numbers if rightward else reversed(numbers):
            _reorder(board, number, rightward=rightward)
        found = crossings(board)
        if found < fewest:
            best, fewest = _snapshot(board), found
    for column, kept in zip(board.columns, best, strict=True):
        column[:] = kept
        stack(board, column)


def separation(board: Board, upper: int, lower: int) -> int:
    """Return the least distance between the tops of two items that follow each other."""
    above, below = board.items[upper], board.items[lower]
    return above.height + above.margin + below.margin


def stack(board: Board, column: Sequence[int]) -> None:
    """Put the items of a column directly one below another, its boxes centred around zero."""
    top = 0
    for position, item in enumerate(column):
        top += separation(board, column[position - 1], item) if position else 0
        board.items[item].top = top
    boxes = [board.items[item] for item in column if board.items[item].height]
    if boxes:
        half = (boxes[0].top + boxes[-1].top + boxes[-1].height) // 2
        for item in column:
            board.items[item].top -= half


def wishes(strands: Iterable[Strand], board: Board, *, of_right: bool) -> Iterable[tuple[Pin, int]]:
    """Yield each pin of one side of a channel with the height at which its wire arrives.

    On a bus, which has many pins, boxes look at boxes only, and passing wires at passing wires:
    where its trunk comes from says nothing about where its branches should be.
    """
    for strand in strands:
        near, far = (strand.right, strand.left) if of_right else (strand.left, strand.right)
        if max(len(near), len(far)) < BUS:
            groups = [(near, far)]
        else:
            groups = list(zip(_by_class(near, board), _by_class(far, board), strict=True))
        for pins, others in groups:
            if others:
                middle = _middle([board.y(pin) for pin in others])
                yield from ((pin, middle) for pin in pins)


def turns(strands: Iterable[Strand], board: Board, *, of_right: bool) -> Iterable[tuple[Pin, int]]:
    """Yield each pin of a wire that turns back in a channel, with the middle of its pins."""
    for strand in strands:
        near, far = (strand.right, strand.left) if of_right else (strand.left, strand.right)
        if not far:
            middle = _middle([board.y(pin) for pin in near])
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


def _by_class(pins: Sequence[Pin], board: Board) -> tuple[tuple[Pin, ...], tuple[Pin, ...]]:
    boxes = tuple(pin for pin in pins if board.items[pin.item].height)
    passing = tuple(pin for pin in pins if not board.items[pin.item].height)
    return boxes, passing


def crossings(board: Board) -> int:
    """Count the crossings of the straight lines that the wires would be."""
    total = 0
    for strands in board.channels:
        lines = sorted(
            (board.y(left), board.y(right))
            for strand in strands
            for left in strand.left
            for right in strand.right
        )
        passed: list[int] = []
        for _, end in lines:
            total += len(passed) - bisect_right(passed, end)
            insort(passed, end)
    return total


def _snapshot(board: Board) -> list[list[int]]:
    return [list(column) for column in board.columns]


def _reorder(board: Board, number: int, *, rightward: bool) -> None:
    channel = number - 1 if rightward else number
    if not 0 <= channel < len(board.channels):
        return
    column = board.columns[number]
    wanted: dict[int, list[int]] = {}
    strands = board.channels[channel]
    for pin, height in chain(
        wishes(strands, board, of_right=rightward), turns(strands, board, of_right=rightward)
    ):
        wanted.setdefault(pin.item, []).append(height - pin.offset)
    keys = {}
    for item in column:
        it = board.items[item]
        tops = wanted.get(item, [it.top])
        keys[item] = (it.band, sum(tops) / len(tops) + it.height / 2)
    column.sort(key=keys.__getitem__)
    stack(board, column)
