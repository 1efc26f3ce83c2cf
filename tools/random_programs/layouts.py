"""Derived datatypes as data, and where their bytes lie in memory."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Layout = dict[str, Any]
"""How to build a datatype: its `shape`, its `basic` type, and the numbers that shape needs."""

SIZES = {
    "BYTE": 1,
    "INT8_T": 1,
    "INT16_T": 2,
    "INT32_T": 4,
    "UINT32_T": 4,
    "INT64_T": 8,
    "FLOAT": 4,
    "DOUBLE": 8,
    "C_DOUBLE_COMPLEX": 16,
}
"""The basic types that are used, with their sizes in bytes."""

UNTOUCHED = 0xA5
"""What memory holds that no message was received into."""

Blocks = list[tuple[int, int]]


def plain(basic: str) -> Layout:
    """Return the layout of a basic type."""
    return {"shape": "plain", "basic": basic}


def draw_layout(dice: Random, basic: str | None = None) -> Layout:
    """Return a random layout; two of three are plain ones."""
    basic = basic or dice.choice(list(SIZES))
    shape = dice.choice(["plain"] * 10 + ["contiguous", "vector", "indexed", "subarray", "spaced"])
    layout: Layout = {"shape": shape, "basic": basic}
    match shape:
        case "contiguous":
            layout["count"] = dice.randint(1, 5)
        case "vector":
            length = dice.randint(1, 3)
            layout |= {
                "count": dice.randint(1, 4),
                "length": length,
                "stride": length + dice.randint(0, 3),
            }
        case "indexed":
            layout |= _draw_indexed(dice)
        case "subarray":
            rows, columns = dice.randint(1, 4), dice.randint(1, 4)
            layout |= {"sizes": [rows, columns]}
            layout["part"] = [dice.randint(1, rows), dice.randint(1, columns)]
            layout["start"] = [
                dice.randint(0, whole - part)
                for whole, part in zip(layout["sizes"], layout["part"], strict=True)
            ]
        case "spaced":
            layout["extent"] = SIZES[basic] * dice.randint(1, 3)
    return layout


def draw_mixed_pair(dice: Random) -> tuple[Layout, Layout]:
    """Return two structures with the same members at different places."""
    members = [(dice.choice(list(SIZES)), dice.randint(1, 3)) for _ in range(dice.randint(1, 3))]
    return _draw_struct(dice, members), _draw_struct(dice, members)


def _draw_struct(dice: Random, members: list[tuple[str, int]]) -> Layout:
    places, end = [], 0
    for basic, count in members:
        end += 16 * dice.randint(0, 1)
        places.append(end)
        end += -(-SIZES[basic] * count // 16) * 16
    return {
        "shape": "struct",
        "basic": "BYTE",
        "members": [list(member) for member in members],
        "places": places,
        "extent": end,
    }


def _draw_indexed(dice: Random) -> dict[str, list[int]]:
    lengths = [dice.randint(1, 3) for _ in range(dice.randint(1, 4))]
    places, end = [], 0
    for length in lengths:
        places.append(end)
        end += length + dice.randint(0, 2)
    order = list(range(len(lengths)))
    dice.shuffle(order)
    return {"lengths": [lengths[i] for i in order], "places": [places[i] for i in order]}


def blocks_of(layout: Layout) -> tuple[Blocks, int]:
    """Return the blocks of one item in the order of their sending, and the item's extent."""
    unit = SIZES[layout["basic"]]
    match layout["shape"]:
        case "plain":
            return [(0, unit)], unit
        case "spaced":
            return [(0, unit)], layout["extent"]
        case "contiguous":
            return [(0, unit * layout["count"])], unit * layout["count"]
        case "vector":
            count, length, stride = layout["count"], layout["length"], layout["stride"]
            blocks = [(unit * stride * index, unit * length) for index in range(count)]
            return blocks, unit * (stride * (count - 1) + length)
        case "indexed":
            pairs = zip(layout["places"], layout["lengths"], strict=True)
            blocks = [(unit * place, unit * length) for place, length in pairs]
            return blocks, max(place + length for place, length in blocks)
        case "struct":
            pairs = zip(layout["places"], layout["members"], strict=True)
            return [(place, SIZES[basic] * count) for place, (basic, count) in pairs], layout[
                "extent"
            ]
        case _:
            (rows, columns), (height, width) = layout["sizes"], layout["part"]
            top, left = layout["start"]
            return [
                (unit * ((top + row) * columns + left), unit * width) for row in range(height)
            ], unit * rows * columns


def item_size(layout: Layout) -> int:
    """Return how many bytes one item sends."""
    return sum(length for _, length in blocks_of(layout)[0])


def extent(layout: Layout) -> int:
    """Return the distance in bytes between two items."""
    return blocks_of(layout)[1]


def positions(layout: Layout, count: int) -> NDArray[np.int64]:
    """Return where each byte of `count` items lies, in the order of their sending."""
    blocks, distance = blocks_of(layout)
    one = np.concatenate([np.arange(start, start + length) for start, length in blocks])
    return np.asarray((np.arange(count)[:, None] * distance + one[None, :]).ravel(), np.int64)


def memory(layout: Layout, items: int) -> Bytes:
    """Return untouched memory for that many items."""
    return np.full(extent(layout) * items, UNTOUCHED, np.uint8)


def deposit(into: Bytes, at: int, layout: Layout, data: Bytes) -> None:
    """Put the bytes of a message into memory as a receive of this layout at this place does."""
    count = -(-len(data) // item_size(layout))
    into[at + positions(layout, count)[: len(data)]] = data
