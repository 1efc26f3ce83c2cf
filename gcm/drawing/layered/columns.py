"""Breaks layers that are too tall into several columns, and rows that are too wide into bands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gcm.drawing import metrics


class Size(NamedTuple):
    """The width and height of a box."""

    width: int
    height: int


class Cell(NamedTuple):
    """Where a box goes: a column counted from the left, and a band counted from the top."""

    column: int
    band: int


def arrange(layers: Sequence[int], sizes: Sequence[Size], *, in_bands: bool = True) -> list[Cell]:
    """Return the cell of each box, given the layer each one is in.

    Low rows are broken into bands where they are wide; with `in_bands` not set, only where they are
    very low, or too wide for any picture.
    """
    if not layers:
        return []
    area = sum(
        (size.width + 2 * metrics.CHANNEL_MARGIN) * (size.height + 2 * metrics.BOX_MARGIN)
        for size in sizes
    )
    members: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for box, layer in enumerate(layers):
        members[layer].append(box)
    tallest = max(size.height for size in sizes)
    tall = max(
        metrics.COLUMN_HEIGHT, tallest, int(metrics.SLENDER * math.sqrt(area / metrics.ASPECT))
    )
    columns = [part for layer in members for part in _parts(layer, sizes, tall)]
    ideal = int(metrics.BROAD * math.sqrt(area * metrics.ASPECT))
    least_aspect = metrics.CHAIN_ASPECT if in_bands else metrics.THREAD_ASPECT
    chain = _aspect(columns, sizes) > least_aspect
    wide = max(metrics.CHAIN_WIDTH if chain else metrics.ROW_WIDTH, ideal)
    cells: dict[int, Cell] = {}
    for band, row in enumerate(_rows(columns, sizes, wide)):
        for column, boxes in enumerate(row):
            cells.update((box, Cell(column, band)) for box in boxes)
    return [cells[box] for box in range(len(layers))]


def _aspect(columns: list[list[int]], sizes: Sequence[Size]) -> float:
    """Return how many times broader than high a row is; bands of a low one cost few crossings."""
    height = max(
        sum(sizes[box].height + 2 * metrics.BOX_MARGIN for box in column) for column in columns
    )
    return sum(_widths(columns, sizes)) / height


def grid(sizes: Sequence[Size], *, least_width: int = 0) -> tuple[list[tuple[int, int]], Size]:
    """Place boxes that nothing connects row by row; return their corners and the size of it all."""
    if not sizes:
        return [], Size(0, 0)
    gap = 2 * metrics.BOX_MARGIN + 2 * metrics.STEM
    area = sum((size.width + gap) * (size.height + gap) for size in sizes)
    limit = max(least_width, int(math.sqrt(area * metrics.ASPECT)))
    corners: list[tuple[int, int]] = []
    x = y = row_height = width = 0
    for size in sizes:
        if x and x + size.width > limit:
            x, y, row_height = 0, y + row_height + 2 * metrics.BOX_MARGIN, 0
        corners.append((x, y))
        width = max(width, x + size.width)
        row_height = max(row_height, size.height)
        x += size.width + gap
    return corners, Size(width, y + row_height)


def _parts(layer: list[int], sizes: Sequence[Size], limit: int) -> Iterable[list[int]]:
    """Cut one layer into columns of about equal height, each at most about `limit` tall."""
    heights = [sizes[box].height + 2 * metrics.BOX_MARGIN for box in layer]
    total = sum(heights)
    parts: list[list[int]] = [[] for _ in range(max(1, math.ceil(total / limit)))]
    share = math.ceil(total / len(parts))
    used = 0
    for box, height in zip(layer, heights, strict=True):
        # Rounded up to whole equal boxes, so that all columns but the last are full.
        parts[min(used // max(share, 1), len(parts) - 1)].append(box)
        used += height
    return [part for part in parts if part]


def _rows(columns: list[list[int]], sizes: Sequence[Size], limit: int) -> Iterable[list[list[int]]]:
    """Cut the row of columns into bands of about equal width, each at most about `limit` wide."""
    widths = _widths(columns, sizes)
    total = sum(widths)
    count = math.ceil(total / limit)
    rows: list[list[list[int]]] = [[] for _ in range(count)]
    used = 0
    for column, width in zip(columns, widths, strict=True):
        rows[used * count // total].append(column)
        used += width
    return [row for row in rows if row]


def _widths(columns: list[list[int]], sizes: Sequence[Size]) -> list[int]:
    return [
        max(sizes[box].width for box in column) + 3 * metrics.CHANNEL_MARGIN for column in columns
    ]
