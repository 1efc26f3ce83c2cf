"""How many ranks of a cluster each of its nodes gets."""

from __future__ import annotations

from collections.abc import Sequence


class TooFewSlotsError(ValueError):
    """More ranks than slots."""


def spread(ranks: int | None, slots: Sequence[int | None]) -> list[int]:
    """Return the number of ranks of each node.

    Nodes with slots are filled one after the other; a node without a number has one slot beside
    nodes that have one. When no node has a number, the ranks are spread evenly, the first nodes
    getting one more. Without `ranks` every slot gets one. Raises `TooFewSlotsError`.

    >>> spread(5, [None, None, None])
    [2, 2, 1]
    >>> spread(5, [4, 4])
    [4, 1]
    """
    if ranks is not None and all(found is None for found in slots):
        each, more = divmod(ranks, len(slots))
        return [each + (number < more) for number in range(len(slots))]
    room = [1 if found is None else found for found in slots]
    if ranks is None:
        return room
    if ranks > sum(room):
        raise TooFewSlotsError(f"{ranks} ranks, but its nodes have {sum(room)} slots")
    placed = []
    for found in room:
        placed.append(min(found, ranks))
        ranks -= placed[-1]
    return placed
