"""The byte ranges of one payload that were announced, over however many connections they come.

Ranges are positions in order: the begin of a range, its end, the begin of the next one, and so on.
Ranges that touch are one, so a payload that comes in order has two positions.
"""

from __future__ import annotations

from bisect import bisect_right

from runtime.wire.errors import BadFrame

MOST = 1 << 16
"""The most positions. Only parts in flight leave gaps, and there are fewer of them."""


def add_range(ranges: list[int], begin: int, end: int) -> None:
    """Add the bytes from `begin` on that lie before `end`, of which there are some.

    Raises:
        BadFrame: some of them were added already, or there are too many ranges.

    >>> ranges = [0, 4, 8, 9]
    >>> add_range(ranges, 4, 8)
    >>> ranges
    [0, 9]
    """
    at = bisect_right(ranges, begin)
    if at % 2 or (at < len(ranges) and ranges[at] < end):
        raise BadFrame(f"of the bytes from {begin} to {end} of a payload some came twice")
    if len(ranges) >= MOST:
        raise BadFrame("a payload comes in too many parts with gaps between them")
    touches_left = at > 0 and ranges[at - 1] == begin
    touches_right = at < len(ranges) and ranges[at] == end
    new = [begin] * (not touches_left) + [end] * (not touches_right)
    ranges[at - touches_left : at + touches_right] = new


def remove_range(ranges: list[int], begin: int, end: int) -> None:
    """Remove bytes that were announced and will not come, so that they may be announced again.

    >>> ranges = [0, 9]
    >>> remove_range(ranges, 4, 9)
    >>> ranges
    [0, 4]
    """
    at = bisect_right(ranges, begin)
    first, last = ranges[at - 1], ranges[at]
    ranges[at - 1 : at + 1] = [first, begin] * (first < begin) + [end, last] * (end < last)
