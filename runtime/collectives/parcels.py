"""Collectives on blobs: data whose size only its owner knows, such as pickled objects.

Routes and optima are the same as for buffers, plus 8 bytes for the size of each blob; small and
large blobs alike are sent in one bundle between two clusters. One WAN latency each. Within a
cluster the call goes along with the size, as between clusters it does in the tag.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

from runtime.collectives.blocks import Blocks
from runtime.collectives.broadcast import bcast_blob
from runtime.collectives.layout import ClusterPart, Layout
from runtime.collectives.port import CollectivePort, Data, Parcel, Pending, Steps, content

Blob: TypeAlias = Data

_HEAD = struct.Struct("<qq")
"""The size of a member's blob, and its call."""


def bundle(blobs: Sequence[Data]) -> list[Data]:
    """Return the pieces of one message that holds the blobs and their sizes."""
    return [struct.pack(f"<{len(blobs)}q", *map(len, blobs)), *blobs]


def unbundle(data: memoryview, count: int) -> list[memoryview]:
    """Return the blobs of a bundle."""
    form = struct.Struct(f"<{count}q")
    row = Blocks.in_a_row(form.unpack(data[: form.size]), data[form.size :])
    return [row[which] for which in range(count)]


def gather_in_cluster(
    layout: Layout, port: CollectivePort, blob: Blob, root: int
) -> Steps[list[memoryview]]:
    """Return the blobs of this cluster's members at one of them, elsewhere an empty list."""
    part, data = layout.mine, memoryview(blob)
    if len(part.members) == 1:
        return [data]
    position = part.members.index(root)
    head = memoryview(_HEAD.pack(len(data), port.call))
    if layout.me != root:
        yield [*port.gather(head, None, position), *port.gather(data, None, position)]
        return []
    heads = Blocks.in_a_row([_HEAD.size] * len(part.members))
    yield port.gather(head, heads, position)
    sizes, calls = zip(*_HEAD.iter_unpack(heads.memory), strict=True)
    port.compare(dict(zip(part.members, calls, strict=True)))
    blocks = Blocks.in_a_row(sizes)
    yield port.gather(data, blocks, position)
    return [blocks[which] for which in range(len(part.members))]


def scatter_in_cluster(
    layout: Layout, port: CollectivePort, blobs: Sequence[Blob], root: int
) -> Steps[memoryview]:
    """Return this member's blob out of those that one member of its cluster has, in order."""
    part = layout.mine
    if len(part.members) == 1:
        return memoryview(blobs[0])
    position = part.members.index(root)
    told = memoryview(bytearray(8))
    if layout.me != root:
        yield port.scatter(None, told, position)
        room = memoryview(bytearray(struct.unpack("<q", told)[0]))
        yield port.scatter(None, room, position)
        return room
    lengths = memoryview(struct.pack(f"<{len(blobs)}q", *map(len, blobs)))
    sizes = Blocks.in_a_row([8] * len(blobs), lengths)
    blocks = Blocks.in_a_row(list(map(len, blobs)), memoryview(b"".join(blobs)))
    room = memoryview(bytearray(len(blobs[position])))
    yield [*port.scatter(sizes, told, position), *port.scatter(blocks, room, position)]
    return room


def gather_blobs(
    layout: Layout, port: CollectivePort, blob: Blob, root: int
) -> Steps[list[memoryview] | None]:
    """Return all blobs in rank order at the root, None elsewhere."""
    part = layout.mine
    parcels: list[tuple[ClusterPart, Parcel]] = []
    if layout.me == root:
        parcels = [(p, port.expect(p.members[0])) for p in layout.remote()]
    leader = part.leader(root)
    mine = yield from gather_in_cluster(layout, port, blob, leader)
    if layout.me != root:
        if layout.me == leader:
            yield (port.send(root, *bundle(mine)),)
        return None
    found: dict[int, memoryview] = dict(zip(part.members, mine, strict=True))
    if parcels:
        yield [parcel for _, parcel in parcels]
    for other, parcel in parcels:
        blobs = unbundle(content(parcel), len(other.members))
        found.update(zip(other.members, blobs, strict=True))
    return [found[rank] for rank in range(layout.size)]


def scatter_blobs(
    layout: Layout, port: CollectivePort, blobs: Sequence[Blob] | None, root: int
) -> Steps[memoryview]:
    """Return this member's blob out of the root's."""
    part = layout.mine
    leader = part.leader(root)
    mine: Sequence[Blob] = ()
    pending: list[Pending] = []
    if layout.me == root and blobs is not None:
        pending = [
            port.send(p.members[0], *bundle([blobs[rank] for rank in p.members]))
            for p in reversed(layout.remote())
        ]
        mine = [blobs[rank] for rank in part.members]
    elif layout.me == leader:
        parcel = port.expect(root)
        yield (parcel,)
        mine = unbundle(content(parcel), len(part.members))
    result = yield from scatter_in_cluster(layout, port, mine, leader)
    if pending:
        yield pending
    return result


def allgather_blobs(layout: Layout, port: CollectivePort, blob: Blob) -> Steps[list[memoryview]]:
    """Return all blobs in rank order, at every member."""
    part = layout.mine
    leader = part.members[0]
    mine = yield from gather_in_cluster(layout, port, blob, leader)
    everything: memoryview | None = None
    if layout.me == leader:
        bundles = yield from between_leaders(layout, port, b"".join(bundle(mine)))
        everything = memoryview(b"".join(bundles))
    if len(part.members) > 1:
        inside = Layout([(0, 0)] * len(part.members), layout.position)
        everything = yield from bcast_blob(inside, port, everything, 0)
    found: dict[int, memoryview] = {}
    rest = memoryview(b"") if everything is None else everything
    for other in layout.parts:
        blobs = unbundle(rest, len(other.members))
        rest = rest[8 * len(blobs) + sum(map(len, blobs)) :]
        found.update(zip(other.members, blobs, strict=True))
    return [found[rank] for rank in range(layout.size)]


def between_leaders(layout: Layout, port: CollectivePort, blob: Blob) -> Steps[list[memoryview]]:
    """Return the blob of every cluster's leader, in the order of the clusters; for leaders only."""
    me, data = layout.mine, memoryview(blob)
    relays = {p.index: layout.gate(me.site, turn=p.index) for p in layout.parts}
    sent = [
        port.send(layout.gate(site, turn=me.index), data)
        for site in range(len(layout.sites))
        if site != me.site
    ]
    near = [p.members[0] for p in layout.my_site if p is not me]
    sent += [port.send(leader, data) for leader in near]
    found: dict[int, memoryview] = {me.index: data}
    for other in layout.remote():
        direct = other.site == me.site or relays[other.index] == layout.me
        parcel = port.expect(other.members[0] if direct else relays[other.index])
        yield (parcel,)
        found[other.index] = content(parcel)
        if direct and other.site != me.site:
            sent += [port.send(leader, found[other.index]) for leader in near]
    if sent:
        yield sent
    return [found[part.index] for part in layout.parts]


def alltoall_blobs(
    layout: Layout, port: CollectivePort, blobs: Sequence[Blob]
) -> Steps[list[memoryview]]:
    """Return the blobs that every member has for this one, in rank order."""
    part = layout.mine
    leader = part.members[0]
    far = [rank for other in layout.remote() for rank in other.members]
    near = [blobs[rank] for rank in part.members]
    inboxes: list[Blob] = []
    if far:
        outbox = b"".join(bundle([blobs[rank] for rank in far]))
        boxes = yield from gather_in_cluster(layout, port, outbox, leader)
        if layout.me == leader:
            inboxes = yield from _exchange_boxes(layout, port, boxes, len(far))
    mine = yield from _near_blobs(port, near)
    found = dict(zip(part.members, mine, strict=True))
    if far:
        inbox = yield from scatter_in_cluster(layout, port, inboxes, leader)
        found.update(zip(far, unbundle(inbox, len(far)), strict=True))
    return [found[rank] for rank in range(layout.size)]


def _near_blobs(port: CollectivePort, blobs: Sequence[Blob]) -> Steps[list[memoryview]]:
    """Exchange blobs among the members of this cluster."""
    if len(blobs) == 1:
        return [memoryview(blobs[0])]
    count = len(blobs)
    lengths = memoryview(struct.pack(f"<{count}q", *map(len, blobs)))
    heard = Blocks.in_a_row([8] * count)
    yield port.alltoall(Blocks.in_a_row([8] * count, lengths), heard)
    incoming = Blocks.in_a_row(struct.unpack(f"<{count}q", heard.memory))
    outgoing = Blocks.in_a_row(list(map(len, blobs)), memoryview(b"".join(blobs)))
    yield port.alltoall(outgoing, incoming)
    return [incoming[which] for which in range(count)]


def _exchange_boxes(
    layout: Layout, port: CollectivePort, boxes: Sequence[memoryview], count: int
) -> Steps[list[Blob]]:
    """Exchange outboxes of this cluster's members for inboxes, one message per cluster."""
    opened = [unbundle(box, count) for box in boxes]
    sent: list[Pending] = []
    start = 0
    parcels = [(other, port.expect(other.members[0])) for other in layout.remote()]
    for other, _ in parcels:
        end = start + len(other.members)
        sent.append(
            port.send(other.members[0], *bundle([b for box in opened for b in box[start:end]]))
        )
        start = end
    yield [*sent, *(parcel for _, parcel in parcels)]
    inboxes: list[list[memoryview]] = [[] for _ in boxes]
    for other, parcel in parcels:
        blobs = unbundle(content(parcel), len(other.members) * len(boxes))
        for which, blob in enumerate(blobs):
            inboxes[which % len(boxes)].append(blob)
    return [b"".join(bundle(inbox)) for inbox in inboxes]
