"""The block arithmetic of M x N exchanges: who holds which interval and who sends it to whom."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gcm.records import dataclass

Bounds = Sequence[tuple[int, int]]
"""The start and the stop of each block."""


@dataclass(frozen=True, slots=True)
class BlockTransfer:
    """One interval that goes from a source block to a target block.

    `source_slice` and `target_slice` are relative to the blocks; `start` and `stop` are the
    interval in the whole.
    """

    source: int
    target: int
    source_slice: slice
    target_slice: slice
    start: int
    stop: int


def block_bounds(length: int, parts: int) -> list[tuple[int, int]]:
    """Split `range(length)` into contiguous blocks, the longer ones first.

    The sizes differ by one at most, as those of `numpy.array_split`; blocks are empty when there
    are more parts than elements. Raises ValueError for a negative length or no parts.

    >>> block_bounds(7, 3)
    [(0, 3), (3, 5), (5, 7)]
    """
    if length < 0 or parts < 1:
        raise ValueError(f"cannot split {length} elements into {parts} blocks")
    size, longer = divmod(length, parts)
    starts = [part * size + min(part, longer) for part in range(parts + 1)]
    return list(pairwise(starts))


def exchange_plan(givers: Bounds, takers: Bounds) -> tuple[BlockTransfer, ...]:
    """Return the transfers that turn the blocks of `givers` into those of `takers`.

    Both are bounds of contiguous blocks of the same whole. Each element travels exactly once and
    no transfer is empty; the transfers are in the order of the elements.
    """
    length = givers[-1][1]
    plan = []
    source = target = start = 0
    while start < length:
        (source_start, source_stop), (target_start, target_stop) = givers[source], takers[target]
        stop = min(source_stop, target_stop)
        if stop > start:  # a member's block may be empty
            plan.append(
                BlockTransfer(
                    source,
                    target,
                    slice(start - source_start, stop - source_start),
                    slice(start - target_start, stop - target_start),
                    start,
                    stop,
                )
            )
        source += stop == source_stop
        target += stop == target_stop
        start = stop
    return tuple(plan)
