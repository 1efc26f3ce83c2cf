"""Collectives of intercommunicators: the two groups, and what crosses from one to the other.

Each group works as a group of its own; the first members of both exchange, once and at the same
time, what a group has for the other. With a root only the root and the other group take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from runtime.collectives.barrier import barrier
from runtime.collectives.blocks import Blocks
from runtime.collectives.broadcast import bcast, bcast_blob
from runtime.collectives.gathering import gather, scatter
from runtime.collectives.layout import Layout
from runtime.collectives.parcels import Blob, bundle, gather_blobs, scatter_blobs, unbundle
from runtime.collectives.points import PointPort
from runtime.collectives.port import CollectivePort, Steps, content
from runtime.collectives.runs import Merge, reduce_ordered


class Sides:
    """The two groups of an intercommunicator among the members of a layout that has both."""

    def __init__(self, layout: Layout, mine: Sequence[int], theirs: Sequence[int]) -> None:
        self.layout = layout
        self.mine, self.theirs = tuple(mine), tuple(theirs)

    @cached_property
    def my_group(self) -> Layout:
        """Return the layout of this member's group."""
        return self.among(self.mine)

    def among(self, ranks: Sequence[int]) -> Layout:
        """Return the layout of some members, including this one."""
        parts = [self.layout.part_of[rank] for rank in ranks]
        return Layout([(p.site, p.index) for p in parts], list(ranks).index(self.layout.me))

    def port(self, whole: CollectivePort) -> PointPort:
        """Return the port of this member's group."""
        return PointPort(whole, self.mine, self.my_group)

    def rooted(self, root: int | None) -> tuple[int, ...]:
        """Return the participants of an operation with a root, the root first.

        `root` is the rank of a root in the other group, or None if this member is the root.
        """
        if root is None:
            return (self.layout.me, *self.theirs)
        return (self.theirs[root], *self.mine)


def barrier_between(sides: Sides, port: CollectivePort) -> Steps[None]:
    """Return when every member of both groups has come."""
    everybody = range(sides.layout.size)
    yield from barrier(sides.layout, PointPort(port, everybody, sides.layout))


def bcast_between(
    sides: Sides, port: CollectivePort, data: memoryview, root: int | None
) -> Steps[None]:
    """Give the root's data to the other group."""
    ranks = sides.rooted(root)
    layout = sides.among(ranks)
    yield from bcast(layout, PointPort(port, ranks, layout), data, 0)


def bcast_blob_between(
    sides: Sides, port: CollectivePort, blob: Blob | None, root: int | None
) -> Steps[memoryview]:
    """Give the root's blob to the other group."""
    ranks = sides.rooted(root)
    layout = sides.among(ranks)
    return (yield from bcast_blob(layout, PointPort(port, ranks, layout), blob, 0))


def gather_between(
    sides: Sides, port: CollectivePort, mine: memoryview, into: Blocks | None, root: int | None
) -> Steps[None]:
    """Bring the blocks of the other group, in rank order, to the root."""
    ranks = sides.rooted(root)
    layout = sides.among(ranks)
    if into is not None:
        into = Blocks(into.memory, [0, *into.offsets], [0, *into.sizes])
    yield from gather(layout, PointPort(port, ranks, layout), mine, into, 0)


def scatter_between(
    sides: Sides, port: CollectivePort, blocks: Blocks | None, mine: memoryview, root: int | None
) -> Steps[None]:
    """Bring to every member of the other group its block from the root."""
    ranks = sides.rooted(root)
    layout = sides.among(ranks)
    if blocks is not None:
        blocks = Blocks(blocks.memory, [0, *blocks.offsets], [0, *blocks.sizes])
    yield from scatter(layout, PointPort(port, ranks, layout), blocks, mine, 0)


def gather_blobs_between(
    sides: Sides, port: CollectivePort, blob: Blob, root: int | None
) -> Steps[list[memoryview] | None]:
    """Return the blobs of the other group at the root."""
    ranks = sides.rooted(root)
    layout = sides.among(ranks)
    found = yield from gather_blobs(layout, PointPort(port, ranks, layout), blob, 0)
    return None if found is None else found[1:]


def scatter_blobs_between(
    sides: Sides, port: CollectivePort, blobs: Sequence[Blob] | None, root: int | None
) -> Steps[memoryview]:
    """Return to every member of the other group its blob of the root's."""
    ranks = sides.rooted(root)
    layout = sides.among(ranks)
    if blobs is not None:
        blobs = [b"", *blobs]
    return (yield from scatter_blobs(layout, PointPort(port, ranks, layout), blobs, 0))


def allgather_between(sides: Sides, port: CollectivePort, blob: Blob) -> Steps[list[memoryview]]:
    """Return the blobs of the other group at every member."""
    layout, mine = sides.my_group, sides.port(port)
    blobs = yield from gather_blobs(layout, mine, blob, 0)
    message = None if blobs is None else b"".join(bundle(blobs))
    arrived = yield from _trade(sides, port, message)
    whole = yield from bcast_blob(layout, mine, arrived, 0)
    return unbundle(whole, len(sides.theirs))


def reduce_between(
    sides: Sides, port: CollectivePort, blob: Blob, merge: Merge, root: int | None
) -> Steps[Blob | None]:
    """Return the other group's values folded in rank order, at the root."""
    if root is None:
        parcel = port.expect(sides.theirs[0])
        yield (parcel,)
        return content(parcel)
    result = yield from reduce_ordered(sides.my_group, sides.port(port), blob, merge, 0)
    if result is not None:
        yield (port.send(sides.theirs[root], result),)
    return None


def allreduce_between(sides: Sides, port: CollectivePort, blob: Blob, merge: Merge) -> Steps[Blob]:
    """Return the other group's values folded in rank order, at every member."""
    layout, mine = sides.my_group, sides.port(port)
    result = yield from reduce_ordered(layout, mine, blob, merge, 0)
    arrived = yield from _trade(sides, port, result)
    return (yield from bcast_blob(layout, mine, arrived, 0))


def reduce_scatter_between(
    sides: Sides,
    port: CollectivePort,
    blob: Blob,
    merge: Merge,
    *,
    sizes: Sequence[int],
    mine: memoryview,
) -> Steps[None]:
    """Fold the other group's values in rank order, and scatter the result over this group."""
    layout, group = sides.my_group, sides.port(port)
    result = yield from reduce_ordered(layout, group, blob, merge, 0)
    arrived = yield from _trade(sides, port, result)
    blocks = None if arrived is None else Blocks.in_a_row(sizes, memoryview(arrived))
    yield from scatter(layout, group, blocks, mine, 0)


def _trade(sides: Sides, port: CollectivePort, message: Blob | None) -> Steps[Blob | None]:
    """Exchange one message between the first members of both groups; the others do nothing."""
    if message is None:
        return None
    parcel = port.expect(sides.theirs[0])
    yield [port.send(sides.theirs[0], message), parcel]
    return content(parcel)
