"""Little data through a tree: members tell their leader, leaders their site, sites each other.

Unlike the other algorithms these are made for a processor that has just woken up: a member does no
more than to send one message and to wait for another. Everything but the messages is found before.

Optimum: one message over each link between a cluster and its site's gate, each way, and one over
each link between two sites, each way; the slowest member waits one WAN latency.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from runtime.collectives.broadcast import relay
from runtime.collectives.layout import Layout
from runtime.collectives.port import Data

Say: TypeAlias = "Callable[[int, Data], object]"
"""Sends data to a member, which need not have arrived when it returns."""

Fold: TypeAlias = "Callable[[Sequence[Data]], Data]"
"""Returns one value for several, from left to right."""

Talk: TypeAlias = "Generator[Sequence[int], list[Data], Data]"
"""Yields from whom it waits for a message, and is sent what they say, in the same order."""

TalkOf: TypeAlias = "Callable[[MemberTree, Say], Generator[Sequence[int], list[Data], object]]"
"""A talk that is still to begin."""


class MemberTree:
    """One member's place among those of a communicator."""

    def __init__(self, layout: Layout) -> None:
        part = layout.mine
        self.layout = layout
        self.others = [rank for rank in part.members if rank != layout.me]
        """The other members of my cluster."""
        self.leader = part.members[0]
        self.gate = layout.gate(part.site)
        self.leaders = [one.members[0] for one in layout.my_site if one is not part]
        """Who speaks for the other clusters of my site."""
        self.site = part.site
        self.gates = [layout.gate(site) for site in range(len(layout.sites)) if site != part.site]
        """Who speaks for the other sites."""
        self._spread_from: dict[int, tuple[int, list[int]]] = {}

    def spread_from(self, root: int) -> tuple[int, list[int]]:
        """Return from whom I get the root's data, -1 for the root itself, and to whom I give it."""
        found = self._spread_from.get(root)
        if found is None:
            layout = self.layout
            leader = layout.mine.leader(root)
            if layout.me == leader:
                place = relay(layout, root)
                found = place.parent, [*place.children, *self.others]
            else:
                found = leader, []
            self._spread_from[root] = found
        return found


def combined(tree: MemberTree, say: Say, mine: Data, fold: Fold) -> Talk:
    """Return the fold of everybody's data to everybody, in rank order where ranks lie in order."""
    me = tree.layout.me
    if me != tree.leader:
        say(tree.leader, mine)
        (result,) = yield (tree.leader,)
        return result
    if tree.others:
        mine = fold([mine, *(yield tree.others)])
    if me != tree.gate:
        say(tree.gate, mine)
        (result,) = yield (tree.gate,)
    else:
        if tree.leaders:
            mine = fold([mine, *(yield tree.leaders)])
        for gate in tree.gates:
            say(gate, mine)
        heard = yield tree.gates
        result = fold([*heard[: tree.site], mine, *heard[tree.site :]])
        for leader in tree.leaders:
            say(leader, result)
    for member in tree.others:
        say(member, result)
    return result


def spread(tree: MemberTree, say: Say, data: Data, root: int) -> Talk:
    """Return the root's data to everybody; what others give is not used."""
    source, targets = tree.spread_from(root)
    if source >= 0:
        (data,) = yield (source,)
    for target in targets:
        say(target, data)
    return data


def converged(tree: MemberTree, say: Say, mine: Data, fold: Fold, root: int) -> Talk:
    """Return the fold of everybody's data to the root, nothing to others; the way back of `spread`.

    Each member folds what it hears and its own in the order of the ranks that said it.
    """
    target, sources = tree.spread_from(root)
    if sources:
        heard = dict(zip(sources, (yield sources), strict=True))
        heard[tree.layout.me] = mine
        mine = fold([heard[rank] for rank in sorted(heard)])
    if target < 0:
        return mine
    say(target, mine)
    return b""


def met(tree: MemberTree, say: Say) -> Talk:
    """Return nothing to everybody once all have come."""
    return combined(tree, say, b"", _nothing)


def _nothing(_: Sequence[Data]) -> Data:
    return b""
