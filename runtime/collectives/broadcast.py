"""Broadcast: from the root to every cluster, in one of several ways, and natively inside.

The usual way is a tree: from the root to every other site, there to every cluster. Optimum: the
data crosses the link from the root's site to each other site once, and inside a site the link from
its gate to each other cluster once. Segments are passed on as they come, so that a large broadcast
takes one WAN latency and the time of one crossing, and little more.

Where losses are survived there is one way, `SURVIVING`: all members that live get the data while
the root lives. Short data has no relays. Longer data travels through a gate of each other site;
members behind a gate tell the root when they have all of it, or that they have lost their gate:
then the root adopts them and sends them the rest. It returns when all have the data or are lost.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from gcm.records import dataclass
from runtime.collectives.blocks import SEGMENT, Batches, cut
from runtime.collectives.choice import BINOMIAL, CHAIN, FLAT, SURVIVING, TREE
from runtime.collectives.layout import Layout
from runtime.collectives.port import CollectivePort, Data, Pending, Steps, content
from runtime.errors import GridError

LENGTH = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class BroadcastStep:
    """One member's place in a broadcast."""

    parent: int
    """The member that a leader receives the data from, or -1."""
    children: Sequence[int]
    """The leaders of other clusters that a leader sends it to, the far ones first."""
    leader: int
    """Position of the leader in this cluster."""
    alone: bool


def relay(layout: Layout, root: int) -> BroadcastStep:
    """Return this member's place in a broadcast from `root`."""
    part = layout.mine
    leader = part.leader(root)
    position, alone = part.members.index(leader), len(part.members) == 1
    if layout.me != leader:
        return BroadcastStep(-1, (), position, alone)
    gate = layout.gate(part.site, root)
    children: list[int] = []
    if layout.me == root:
        own = part.site
        children += [layout.gate(site, root) for site in range(len(layout.sites)) if site != own]
    if layout.me == gate:
        children += [p.members[0] for p in layout.my_site if p is not part]
    parent = -1 if layout.me == root else root if layout.me == gate else gate
    return BroadcastStep(parent, children, position, alone)


def flat(layout: Layout, root: int) -> BroadcastStep:
    """Return this member's place where the root sends to every cluster itself, far ones first."""
    part = layout.mine
    leader = part.leader(root)
    children = [other.members[0] for other in reversed(layout.remote())]
    is_leader, is_root = layout.me == leader, layout.me == root
    return BroadcastStep(
        root if is_leader and not is_root else -1,
        children if is_root else (),
        part.members.index(leader),
        len(part.members) == 1,
    )


def chain(layout: Layout, root: int) -> BroadcastStep:
    """Return this member's place in a chain of clusters: site by site, the root's first."""
    part, first = layout.mine, layout.part_of[root]
    leader = part.leader(root)
    row = sorted(layout.parts, key=lambda one: (one.site != first.site, one.site, one is not first))
    leaders = [one.leader(root) for one in row]
    at = leaders.index(leader)
    is_leader = layout.me == leader
    return BroadcastStep(
        leaders[at - 1] if is_leader and at else -1,
        leaders[at + 1 : at + 2] if is_leader else (),
        part.members.index(leader),
        len(part.members) == 1,
    )


def binomial(layout: Layout, root: int) -> BroadcastStep:
    """Return this member's place where ranks alone count: those who have the data double."""
    size = layout.size
    me = (layout.me - root) % size
    reach = me & -me if me else 1 << size.bit_length()
    steps = [1 << bit for bit in reversed(range(reach.bit_length() - 1))]
    children = [(me + step + root) % size for step in steps if me + step < size]
    parent = (me - reach + root) % size if me else -1
    return BroadcastStep(parent, children, 0, alone=True)


WAYS: dict[str, Callable[[Layout, int], BroadcastStep]] = {
    TREE: relay,
    FLAT: flat,
    CHAIN: chain,
    BINOMIAL: binomial,
}
"""A member's place in a broadcast, by the name of the plan."""


def bcast(
    layout: Layout,
    port: CollectivePort,
    data: memoryview,
    root: int,
    segment: int = SEGMENT,
    *,
    plan: str = TREE,
) -> Steps[None]:
    """Broadcast the root's data to every member; its size is known to all."""
    if plan == SURVIVING:
        yield from _bcast_among_survivors(layout, port, data, root, segment)
    else:
        yield from pass_on(port, WAYS[plan](layout, root), data, segment)


def pass_on(
    port: CollectivePort,
    place: BroadcastStep,
    data: memoryview,
    segment: int = SEGMENT,
    skip: int = 0,
) -> Steps[None]:
    """Receive `data` in segments from the parent, send them to children and to this cluster.

    `skip`: how much of the beginning was received, and sent to the children, already.
    """
    pending: list[Pending] = []
    segments = [slice(0, skip)] if skip else []
    here = len(segments)
    segments += cut(len(data), 1, segment, skip)
    batches = Batches(segments)
    coming = (
        [port.receive(place.parent, data[s]) for s in segments[here:]] if place.parent >= 0 else []
    )
    for number, piece in enumerate(segments):
        if number >= here:
            if coming:
                yield (coming[number - here],)
            pending += [port.send(child, data[piece]) for child in place.children]
        given = batches.complete(number)
        if given is not None and not place.alone:
            pending += port.bcast(data[given], place.leader)
    if pending:
        yield pending


def bcast_blob(
    layout: Layout,
    port: CollectivePort,
    blob: Data | None,
    root: int,
    segment: int = SEGMENT,
    *,
    plan: str = TREE,
) -> Steps[memoryview]:
    """Broadcast the root's blob, whose size only the root knows, and return it.

    The first message between clusters carries the size and the first segment.
    """
    if plan == SURVIVING:
        return (yield from _bcast_blob_among_survivors(layout, port, blob, root, segment))
    place = WAYS[plan](layout, root)
    length = memoryview(bytearray(LENGTH.size))
    data = memoryview(b"" if blob is None else blob)
    skip = 0
    sent: list[Pending] = []
    if place.parent >= 0:
        parcel = port.expect(place.parent)
        yield (parcel,)
        length[:] = content(parcel)[: LENGTH.size]
        (total,) = LENGTH.unpack(length)
        data = memoryview(bytearray(total))
        skip = min(total, segment)
        data[:skip] = content(parcel)[LENGTH.size :]
    elif layout.me == root:
        length[:] = LENGTH.pack(len(data))
        skip = min(len(data), segment)
    sent += [port.send(child, length, data[:skip]) for child in place.children]
    if not place.alone:
        yield port.bcast(length, place.leader)
        if place.parent < 0 and layout.me != root:
            (total,) = LENGTH.unpack(length)
            data = memoryview(bytearray(total))
            skip = min(total, segment)
    yield from pass_on(port, place, data, segment, skip)
    if sent:
        yield sent
    return data


def _bcast_blob_among_survivors(
    layout: Layout, port: CollectivePort, blob: Data | None, root: int, segment: int
) -> Steps[memoryview]:
    """Broadcast a blob, whose size, and data if short, the root itself sends to each member."""
    if layout.me == root:
        data = memoryview(b"" if blob is None else blob)
        length = LENGTH.pack(len(data))
        short = data if len(data) <= segment else data[:0]
        told = [port.send(child, length, short) for child in flat(layout, root).children]
        yield from _reached(told)
    else:
        parcel = port.expect(root)
        yield (parcel,)
        (total,) = LENGTH.unpack(content(parcel)[: LENGTH.size])
        if total <= segment:
            return content(parcel)[LENGTH.size :]
        data = memoryview(bytearray(total))
    if len(data) > segment:
        yield from _bcast_among_survivors(layout, port, data, root, segment)
    return data


def _bcast_among_survivors(
    layout: Layout, port: CollectivePort, data: memoryview, root: int, segment: int
) -> Steps[None]:
    """Broadcast data of known size; the loss of members other than the root is no error."""
    place = (relay if len(data) > segment else flat)(layout, root)
    pieces = [data[one] for one in cut(len(data), 1, segment)]
    if place.parent in {-1, root}:
        coming = [] if layout.me == root else [port.receive(root, piece) for piece in pieces]
        sent: list[Pending] = []
        for number, piece in enumerate(pieces):
            if coming:
                yield (coming[number],)
            sent += [port.send(child, piece) for child in place.children]
        if layout.me == root and len(data) > segment:
            sent += yield from _adopt(port, _behind_gates(layout, root), pieces)
        yield from _reached(sent)
    else:
        coming = [port.receive(place.parent, piece) for piece in pieces]
        had = yield from _reached(coming)
        rest = [port.receive(root, piece) for piece in pieces[had:]]
        yield (port.send(root, LENGTH.pack(had)), *rest)


def _behind_gates(layout: Layout, root: int) -> list[int]:
    """Return the members that get the data through the gate of their site."""
    own = layout.mine.site
    return [
        part.members[0]
        for number, site in enumerate(layout.sites)
        for part in site
        if number != own and part.members[0] != layout.gate(number, root)
    ]


def _adopt(
    port: CollectivePort, orphans: Sequence[int], pieces: Sequence[memoryview]
) -> Steps[list[Pending]]:
    """Hear of each member how many pieces it has; return what sends the rest to those in need."""
    rooms = [memoryview(bytearray(LENGTH.size)) for _ in orphans]
    heard = [port.receive(rank, room) for rank, room in zip(orphans, rooms, strict=True)]
    sent: list[Pending] = []
    for rank, room, one in zip(orphans, rooms, heard, strict=True):
        if (yield from _reached((one,))):
            (had,) = LENGTH.unpack(room)
            sent += [port.send(rank, piece) for piece in pieces[had:]]
    return sent


def _reached(operations: Sequence[Pending]) -> Steps[int]:
    """Wait for all operations; return how many there are before the first with a lost member.

    An error while they are not done is one of the whole call, and raised.
    """
    try:
        yield operations
        return len(operations)
    except GridError:
        if not all(one.done for one in operations):
            raise
    for number, one in enumerate(operations):
        try:
            yield (one,)
        except GridError:
            return number
    return len(operations)
