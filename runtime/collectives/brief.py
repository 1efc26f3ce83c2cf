"""Little data through a tree: members tell their leader, leaders their site, sites each other.

Unlike the other algorithms these are made for a processor that has just woken up: a member only
sends one message and waits for another. All else is computed before.

Optimum: one message over each link between a cluster and its site's gate, each way, and one over
each link between two sites, each way; the slowest member waits one WAN latency.

Where clusters are few and the data of all is `LITTLE`, leaders of all clusters send to each other
as if each were a site: links between sites carry more messages, but no gate has to wake up first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from struct import Struct
from typing import TypeAlias

from runtime.collectives.broadcast import relay
from runtime.collectives.layout import ClusterPart, Layout
from runtime.collectives.parcels import bundle, unbundle
from runtime.collectives.port import Data

Say: TypeAlias = "Callable[[int, Data], object]"
"""Sends data to a member; may return before it has arrived."""

Fold: TypeAlias = "Callable[[Sequence[Data]], Data]"
"""Folds several values from left to right."""

Talk: TypeAlias = "Generator[Sequence[int], list[Data], Data]"
"""A generator: yields the members it waits for, and is sent their messages in the same order."""

TalkOf: TypeAlias = "Callable[[MemberTree, Say], Generator[Sequence[int], list[Data], object]]"
"""Starts such a generator."""


LITTLE = 4096
"""So many bytes of all members together are sent between all leaders: soon gone on any line."""

_FEW_CLUSTERS = 4
"""Leaders of more clusters would send for longer than a gate needs to wake up."""

_RANK = Struct("<i")
_BLOB = Struct("<Iq")
_LARGE = -1


class MemberTree:
    """The place of one member among those of a communicator.

    `where` has the sites of its clusters, if the layout takes each cluster for one.
    """

    def __init__(self, layout: Layout, where: Layout | None = None) -> None:
        part = layout.mine
        self.layout = layout
        self.others = [rank for rank in part.members if rank != layout.me]
        """The other members of this cluster."""
        self.leader = part.members[0]
        self.gate = layout.gate(part.site)
        self.leaders = [one.members[0] for one in layout.my_site if one is not part]
        """The leaders of the other clusters of this site."""
        self.site = part.site
        self.gates = [layout.gate(site) for site in range(len(layout.sites)) if site != part.site]
        """The leaders of the other sites."""
        self.remote = layout.remote()
        """The other clusters."""
        walked = [rank for site in layout.sites for one in site for rank in one.members]
        self.places = sorted(range(len(walked)), key=walked.__getitem__)
        """Where the data of each rank is among those that are folded."""
        self._near = {one.members[0] for one in (where or layout).my_site}
        self._spread_from: dict[int, tuple[int, list[int]]] = {}

    @cached_property
    def level(self) -> MemberTree:
        """Return the tree of `LITTLE` data: of leaders alone, if these are few."""
        layout = self.layout
        is_level = len(layout.sites) == len(layout.parts) or len(layout.parts) > _FEW_CLUSTERS
        return self if is_level else MemberTree(layout.level, layout)

    def spread_from(self, root: int) -> tuple[int, list[int]]:
        """Return whom to receive the root's data from, -1 at the root, and whom to send it to."""
        found = self._spread_from.get(root)
        if found is None:
            layout = self.layout
            leader = layout.mine.leader(root)
            if layout.me == leader:
                place = relay(layout, root)
                far_first = sorted(place.children, key=self._near.__contains__)
                found = place.parent, [*far_first, *self.others]
            else:
                found = leader, []
            self._spread_from[root] = found
        return found


def combined(tree: MemberTree, say: Say, mine: Data, fold: Fold) -> Talk:
    """Return the fold of all data at all members, in rank order where the layout is in order."""
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
    """Return the root's data at all members; the others' arguments are not used."""
    source, targets = tree.spread_from(root)
    if source >= 0:
        (data,) = yield (source,)
    for target in targets:
        say(target, data)
    return data


def spread_by_root(tree: MemberTree, say: Say, data: Data, root: int) -> Talk:
    """Return the root's data at all members without relays, for where losses are survived."""
    if tree.layout.me != root:
        (data,) = yield (root,)
        return data
    for target in range(tree.layout.size):
        if target != root:
            say(target, data)
    return data


def converged(tree: MemberTree, say: Say, mine: Data, fold: Fold, root: int) -> Talk:
    """Return the fold of all data at the root, nothing at others; the reverse of `spread`.

    Each member folds its own data and what it receives in the order of the ranks it is from.
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


def collected(
    tree: MemberTree, say: Say, mine: Data
) -> Generator[Sequence[int], list[Data], list[Data]]:
    """Return the data of all, as much from each, at all members by rank."""
    size, whole = len(mine), (yield from combined(tree, say, mine, b"".join))
    return [whole[place * size : (place + 1) * size] for place in tree.places]


def exchanged(tree: MemberTree, say: Say, mine: Data) -> Talk:
    """Return the blocks for this member from all, one of each rank, all of one size.

    `mine` has one for each rank. Leaders send each other a bundle, ordered by source and receiver.
    """
    layout, near = tree.layout, tree.layout.mine.members
    if layout.me != tree.leader:
        say(tree.leader, mine)
        (result,) = yield (tree.leader,)
        return result
    size = len(mine) // layout.size
    rows = [mine, *((yield tree.others) if tree.others else ())]

    def blocks_for(part: ClusterPart) -> bytes:
        return b"".join([row[to * size : (to + 1) * size] for row in rows for to in part.members])

    for part in tree.remote:
        say(part.members[0], blocks_for(part))
    heard = yield [part.members[0] for part in tree.remote]
    width = len(near) * size
    come: list[Data] = [b""] * layout.size
    for part, data in (
        (layout.mine, blocks_for(layout.mine)),
        *zip(tree.remote, heard, strict=True),
    ):
        for which, source in enumerate(part.members):
            come[source] = data[which * width : (which + 1) * width]
    results = [
        b"".join([data[start : start + size] for data in come])
        for start in range(0, len(near) * size, size or 1)
    ] or [b""] * len(near)
    for member, result in zip(near[1:], results[1:], strict=True):
        say(member, result)
    return results[0]


def collected_blobs(
    tree: MemberTree, say: Say, mine: Data, most: int
) -> Generator[Sequence[int], list[Data], list[Data] | None]:
    """Return the blobs of all by rank at all members, or None if some are larger than `most`."""
    is_small = len(mine) <= most
    head = _BLOB.pack(tree.layout.me, len(mine) if is_small else _LARGE)
    whole = yield from combined(tree, say, head + bytes(mine) if is_small else head, b"".join)
    found: dict[int, Data] = {}
    at = 0
    while at < len(whole):
        rank, size = _BLOB.unpack_from(whole, at)
        if size == _LARGE:
            return None
        at += _BLOB.size + size
        found[rank] = whole[at - size : at]
    return [found[rank] for rank in range(tree.layout.size)]


def exchanged_blobs(
    tree: MemberTree, say: Say, mine: Sequence[Data], most: int
) -> Generator[Sequence[int], list[Data], list[Data] | None]:
    """Return the blobs for this member from all by rank, or None if some are larger than `most`.

    Members give their leader all, leaders each other one bundle; an empty one if blobs are larger.
    """
    layout, near = tree.layout, tree.layout.mine.members
    row = b"" if max(map(len, mine)) > most else b"".join(bundle(mine))
    if layout.me != tree.leader:
        say(tree.leader, row)
        (result,) = yield (tree.leader,)
        return [*unbundle(memoryview(result), layout.size)] if result else None
    packed = [row, *((yield tree.others) if tree.others else ())]
    rows = [unbundle(memoryview(one), layout.size) for one in packed] if all(packed) else []
    for part in tree.remote:
        say(part.members[0], b"".join(bundle([r[to] for r in rows for to in part.members])))
    heard = yield [part.members[0] for part in tree.remote]
    if not rows or not all(heard):
        for member in near[1:]:
            say(member, b"")
        return None
    come: list[Sequence[Data]] = [()] * layout.size
    for source, blobs in zip(near, rows, strict=True):
        come[source] = [blobs[to] for to in near]
    for part, data in zip(tree.remote, heard, strict=True):
        count, width = len(part.members) * len(near), len(near)
        blobs = unbundle(memoryview(data), count)
        for which, source in enumerate(part.members):
            come[source] = blobs[which * width : (which + 1) * width]
    for which, member in enumerate(near[1:], 1):
        say(member, b"".join(bundle([blobs[which] for blobs in come])))
    return [blobs[0] for blobs in come]


def collected_at(
    tree: MemberTree, say: Say, mine: Data, root: int
) -> Generator[Sequence[int], list[Data], dict[int, Data]]:
    """Return the data of all by rank at the root, as much from each, and nothing at others."""
    named = _RANK.pack(tree.layout.me) + mine
    found = yield from converged(tree, say, named, b"".join, root)
    starts = range(0, len(found), len(named))
    return {_RANK.unpack_from(found, at)[0]: found[at + 4 : at + len(named)] for at in starts}


def met(tree: MemberTree, say: Say) -> Talk:
    """Return nothing, once all members have called."""
    return combined(tree.level, say, b"", _nothing)


def _nothing(_: Sequence[Data]) -> Data:
    return b""
