"""Gather and scatter: every block crosses the links between it and the root once.

Optimum: the bytes over a link are those of the blocks behind it. Inside the root's cluster the
native call does it. From another cluster, small blocks come as one bundle from its leader to the
root, one message for each cluster; large ones come from their owners directly, at the same time,
since a leader in between could only slow them down. Of blocks that leave the site no more is on its
way at a time than most lines hold.

Native MPI may silently drop data that is too long for the root, so sizes are gathered as well.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from runtime.collectives.blocks import SMALL, Blocks
from runtime.collectives.layout import Layout
from runtime.collectives.port import CollectivePort, InTurn, Pending, Steps
from runtime.collectives.turns import PIECE, pieces, receive_whole


def gather(
    layout: Layout,
    port: CollectivePort,
    mine: memoryview | None,
    into: Blocks | None,
    root: int,
    *,
    size: int | None = None,
    piece: int = PIECE,
) -> Steps[bool]:
    """Gather every member's block at the root; return whether all blocks of this cluster fitted.

    `into` is given at the root, `mine` is None there when its own block is in place. `size` is the
    size of every block where all members know that it is the same.
    """
    part = layout.mine
    if root in part.members:
        return (yield from _gather_at_root(layout, port, mine, into, root, piece=piece))
    data = memoryview(b"") if mine is None else mine
    small = len(data) < SMALL and len(part.members) > 1
    pending: list[Pending] = []
    turns: list[Pending] = []
    if len(data) and not small:
        neighbours = sum(len(one.members) for one in layout.my_site)
        cut = [(root, one) for one in pieces(data, part, layout.part_of[root], piece)]
        turns.append(port.in_turn(cut, neighbours))
    if len(part.members) > 1:
        bundle = data if small else data[:0]
        count = len(part.members)
        sizes: Sequence[int] = [len(bundle)] * count
        told, heard = _telling(layout, port, len(bundle), 0)
        if size is None:
            if layout.me == part.members[0]:
                told, turns = [*told, *turns], []  # the root expects the leader's own block first
            yield told
            sizes, told = heard(), []
        if layout.me == part.members[0]:
            blocks = Blocks.in_a_row(sizes)
            yield [*port.gather(bundle, blocks, 0), *told]
            if blocks.total:
                # The root raises the error if a message is longer than its buffer.
                excess = [] if sizes == heard() else [b"?"]
                pending.append(port.send(root, blocks.memory, *excess))
        else:
            pending += [*port.gather(bundle, None, 0), *told]
    pending += turns
    if pending:
        yield pending
    return True


def _gather_at_root(
    layout: Layout,
    port: CollectivePort,
    mine: memoryview | None,
    into: Blocks | None,
    root: int,
    *,
    piece: int,
) -> Steps[bool]:
    """Gather natively from this cluster and, at the root, from the members of others."""
    part = layout.mine
    pending: list[Pending] = []
    position = part.members.index(root)
    if layout.me != root or into is None:
        told, _ = _telling(layout, port, 0 if mine is None else len(mine), position)
        yield [*port.gather(mine, None, position), *told]
        return True
    bundles: list[tuple[Blocks, memoryview]] = []
    behind: list[tuple[int, memoryview]] = []  # what a leader sends behind its own block
    for other in layout.remote():
        direct = _direct(other.members, into.sizes)
        pending += [receive_whole(port, r, into[r], part, other, size=piece) for r in direct]
        small = into.of(bundled(other.members, into.sizes))
        if small.total:
            room = small.joined()
            if room is None:
                room = memoryview(bytearray(small.total))
                bundles.append((small, room))
            if other.members[0] in direct:
                behind.append((other.members[0], room))
            else:
                pending.append(port.receive(other.members[0], room))
    near = into.of(part.members)
    heard: Callable[[], list[int]] = list
    if len(part.members) > 1:
        told, heard = _telling(layout, port, 0 if mine is None else len(mine), position)
        pending += told
        pending += port.gather(mine, near, layout.position)
    elif mine is not None:
        into[root][:] = mine
    if pending:
        yield pending
    if behind:  # a block may have turned out longer than there was room for
        yield [port.receive(leader, room) for leader, room in behind]
    for blocks, data in bundles:
        blocks.fill(data)
    return all(size <= room for size, room in zip(heard(), near.sizes, strict=False))


def _telling(
    layout: Layout, port: CollectivePort, mine: int, root: int
) -> tuple[list[Pending], Callable[[], list[int]]]:
    """Gather the sizes of this cluster at a member; return the call, and the sizes there."""
    told, count = memoryview(struct.pack("<q", mine)), len(layout.mine.members)
    if layout.position != root:
        return [*port.gather(told, None, root)], list
    sizes = Blocks.in_a_row([8] * count)
    return [*port.gather(told, sizes, root)], lambda: [*struct.unpack(f"<{count}q", sizes.memory)]


def scatter(
    layout: Layout,
    port: CollectivePort,
    blocks: Blocks | None,
    mine: memoryview | None,
    root: int,
    *,
    size: int | None = None,
    piece: int = PIECE,
) -> Steps[None]:
    """Scatter the root's blocks to their members; the counterpart of `gather`."""
    part = layout.mine
    if root in part.members:
        yield from _scatter_from_root(layout, port, blocks, mine, root, piece=piece)
        return
    room = memoryview(b"") if mine is None else mine
    small = len(room) < SMALL and len(part.members) > 1
    pending: list[Pending] = []
    if len(room) and not small:
        there = layout.part_of[root]
        pending.append(receive_whole(port, root, room, part, there, size=piece))
    if len(part.members) > 1 and (size is None or small):
        target = room if small else room[:0]
        sizes = yield from small_sizes(layout, port, len(target), size)
        if layout.me == part.members[0]:
            bundle = Blocks.in_a_row(sizes)
            if bundle.total:
                if pending:
                    yield pending  # my own block comes first
                    pending = []
                yield (port.receive(root, bundle.memory),)
            pending += port.scatter(bundle, target, 0)
        else:
            pending += port.scatter(None, target, 0)
    if pending:
        yield pending


def _scatter_from_root(
    layout: Layout,
    port: CollectivePort,
    blocks: Blocks | None,
    mine: memoryview | None,
    root: int,
    *,
    piece: int,
) -> Steps[None]:
    part = layout.mine
    pending: list[Pending] = []
    if layout.me != root or blocks is None:
        yield port.scatter(None, mine, part.members.index(root))
        return
    turns: list[InTurn] = []
    bundles: list[tuple[int, memoryview]] = []
    for other in layout.remote()[::-1]:
        cut = [
            (rank, one)
            for rank in _direct(other.members, blocks.sizes)
            for one in pieces(blocks[rank], part, other, piece)
        ]
        turns.append(port.in_turn(cut, len(layout.sites[other.site])))
        small = blocks.of(bundled(other.members, blocks.sizes))
        if small.total:
            bundles.append((other.members[0], small.packed()))
    pending += turns
    if all(one.has_begun_all for one in turns):
        pending += [port.send(leader, bundle) for leader, bundle in bundles]
        bundles = []
    if len(part.members) > 1:
        pending += port.scatter(blocks.of(part.members), mine, layout.position)
    elif mine is not None:
        mine[:] = blocks[root]
    if pending:
        yield pending
    if bundles:  # leaders expect their own blocks first
        yield [port.send(leader, bundle) for leader, bundle in bundles]


def small_sizes(
    layout: Layout, port: CollectivePort, mine: int, size: int | None
) -> Steps[Sequence[int]]:
    """Return the sizes of this cluster's bundled blocks, at its leader; nothing at others."""
    count = len(layout.mine.members)
    if size is not None:
        return [size] * count
    form = struct.Struct(f"<{count}q")
    told = memoryview(struct.pack("<q", mine))
    if layout.me != layout.mine.members[0]:
        yield port.gather(told, None, 0)
        return ()
    heard = Blocks.in_a_row([8] * count)
    yield port.gather(told, heard, 0)
    return form.unpack(heard.memory)


def bundled(members: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Return the members whose blocks are sent through the leader of their cluster."""
    if len(members) == 1:
        return []
    return [rank for rank in members if sizes[rank] < SMALL]


def _direct(members: Sequence[int], sizes: Sequence[int]) -> list[int]:
    alone = len(members) == 1
    return [rank for rank in members if sizes[rank] and (alone or sizes[rank] >= SMALL)]
