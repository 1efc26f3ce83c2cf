"""Which bytes of one payload have come or are coming in, however many connections they come over.

The claims are positions in order: where a range begins, where it ends, where the next one begins,
and so on. Ranges that touch are one, so a payload that comes in order has two positions.
"""

from __future__ import annotations

from bisect import bisect_right

from runtime.wire.errors import BadFrame

MOST = 1 << 16
"""Positions. Gaps are between parts on their way, which are fewer."""


def claim(claims: list[int], begin: int, end: int) -> None:
    """Add the bytes from `begin` on that lie before `end`, of which there are some.

    Raises:
        BadFrame: some of them are claimed already, or there are too many ranges.

    >>> claims = [0, 4, 8, 9]
    >>> claim(claims, 4, 8)
    >>> claims
    [0, 9]
    """
    at = bisect_right(claims, begin)
    if at % 2 or (at < len(claims) and claims[at] < end):
        raise BadFrame(f"of the bytes from {begin} to {end} of a payload some came twice")
    if len(claims) >= MOST:
        raise BadFrame("a payload comes in too many parts with gaps between them")
    touches_left = at > 0 and claims[at - 1] == begin
    touches_right = at < len(claims) and claims[at] == end
    new = [begin] * (not touches_left) + [end] * (not touches_right)
    claims[at - touches_left : at + touches_right] = new


def give_back(claims: list[int], begin: int, end: int) -> None:
    """Take bytes out again that were claimed and will not come, so that they may come once more.

    >>> claims = [0, 9]
    >>> give_back(claims, 4, 9)
    >>> claims
    [0, 4]
    """
    at = bisect_right(claims, begin)
    first, last = claims[at - 1], claims[at]
    claims[at - 1 : at + 1] = [first, begin] * (first < begin) + [end, last] * (end < last)
