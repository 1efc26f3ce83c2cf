"""Shares nodes among those who want some for themselves: so many, or as many as there are. Pure.

A claim with a number goes before greedy ones. A node goes to the first that asks, but is passed on
where its holder can have another instead, so that claims come short only if there is no other way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gcm.records import dataclass
from runtime.deployment.model import NodeAddress

GREEDY = math.inf
"""As many nodes as there are."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The `nodes` of which somebody wants as many as the `count`."""

    nodes: tuple[NodeAddress, ...]
    count: float


def shared(claims: Sequence[Claim]) -> list[tuple[NodeAddress, ...]]:
    """Return the nodes of each claim in its order; no node is in two of them.

    Greedy ones get equal numbers as far as their nodes allow. What comes short has fewer nodes than
    its count.

    >>> a, b, c = (NodeAddress((0, 0), number) for number in range(3))
    >>> given = shared([Claim((a, b, c), GREEDY), Claim((a, b, c), GREEDY), Claim((a,), 1)])
    >>> [[node.number for node in one] for one in given]
    [[1], [2], [0]]
    """
    holder: dict[NodeAddress, int] = {}
    for number, claim in enumerate(claims):
        wanted = 0 if claim.count == GREEDY else int(claim.count)
        while wanted and _take(number, claims, holder):
            wanted -= 1
    greedy = [number for number, claim in enumerate(claims) if claim.count == GREEDY]
    while greedy:  # one that gets none gets none later: those who hold nodes never have fewer
        greedy = [number for number in greedy if _take(number, claims, holder)]
    return [
        tuple(node for node in claim.nodes if holder.get(node) == number)
        for number, claim in enumerate(claims)
    ]


def _take(taker: int, claims: Sequence[Claim], holder: dict[NodeAddress, int]) -> bool:
    """Give a claim one more node, of which others may have to change theirs; return if it has."""
    before: dict[int, tuple[int, NodeAddress] | None] = {taker: None}
    asked = [taker]
    for number in asked:
        free = next((node for node in claims[number].nodes if node not in holder), None)
        if free is not None:
            holder[free] = number
            step = before[number]
            while step is not None:
                claimant, passed_on = step
                holder[passed_on] = claimant
                step = before[claimant]
            return True
        for node in claims[number].nodes:
            if (other := holder[node]) not in before:
                before[other] = (number, node)
                asked.append(other)
    return False
