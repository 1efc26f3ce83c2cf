"""Alltoall: natively inside clusters, and every block once over the link it has to cross.

Optimum: the bytes over a link are those of the blocks that have to cross it. Small blocks between
two clusters travel as one bundle from leader to leader; blocks of `SMALL` bytes and more go from
owner to receiver, many at the same time. Sender and receiver of a block know its size, so they
agree on how it is sent without asking. One WAN latency, if nothing has to wait for its turn.

Blocks of hundreds of KiB at the same time would be more than a line holds: packets would be lost,
and resending takes longer than waiting. So those take turns.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

from runtime.collectives.blocks import SMALL, Blocks
from runtime.collectives.layout import ClusterPart, Layout
from runtime.collectives.port import CollectivePort, InTurn, Pending, Steps
from runtime.collectives.turns import PIECE, pieces, receive_whole


def alltoall(
    layout: Layout,
    port: CollectivePort,
    outgoing: Blocks,
    incoming: Blocks,
    size: int | None = None,
    *,
    piece: int = PIECE,
) -> Steps[None]:
    """Bring block j of every member i to j as block i.

    `size` is the size of every block where all know that it is the same.
    """
    part = layout.mine
    pending: list[Pending] = []
    far = layout.remote()
    coming: dict[int, Pending] = {}
    for other in far:
        for rank in other.members:
            if _direct(part, other, incoming.sizes[rank]):
                coming[rank] = receive_whole(port, rank, incoming[rank], part, other, size=piece)
    pending += coming.values()
    turns = _in_turn(layout, port, outgoing, piece)
    pending += turns
    if len(part.members) > 1:
        pending += port.alltoall(outgoing.of(part.members), incoming.of(part.members))
    else:
        incoming[layout.me][:] = outgoing[layout.me]
    if far and (size is None or size < SMALL):
        if layout.me == part.members[0] and not all(one.has_begun_all for one in turns):
            yield pending  # a leader's block goes before the bundle that it sends the same way
            pending = []
        yield from _exchange_bundles(layout, port, outgoing, incoming, size, before=coming)
    if pending:
        yield pending


def _in_turn(layout: Layout, port: CollectivePort, outgoing: Blocks, piece: int) -> list[InTurn]:
    """Send all blocks that go directly to their receivers, those to each site in turn.

    The members of a site begin with different receivers, so that none gets all at once.
    """
    mine = layout.mine
    neighbours = [rank for part in layout.my_site for rank in part.members]
    found = []
    for site in layout.sites:
        ranks = [
            rank
            for part in site
            if part is not mine
            for rank in part.members
            if _direct(mine, part, outgoing.sizes[rank])
        ]
        first = neighbours.index(layout.me) * len(ranks) // len(neighbours)
        blocks = [
            (rank, one)
            for rank in ranks[first:] + ranks[:first]
            for one in pieces(outgoing[rank], mine, layout.part_of[rank], piece)
        ]
        found.append(port.in_turn(blocks, len(neighbours)))
    return found


def _direct(here: ClusterPart, there: ClusterPart, size: int) -> bool:
    """Return whether a block between two clusters goes directly from its owner to its receiver."""
    return size >= SMALL or (size > 0 and _both_alone(here, there))


def _both_alone(here: ClusterPart, there: ClusterPart) -> bool:
    return len(here.members) == 1 and len(there.members) == 1


def _bundled(layout: Layout, sizes: Sequence[int]) -> list[int]:
    """Return the size of the own block for every rank, 0 where it is not bundled."""
    part = layout.mine
    return [
        0 if other is part or sizes[rank] >= SMALL or _both_alone(part, other) else sizes[rank]
        for rank, other in enumerate(layout.part_of)
    ]


def _exchange_bundles(
    layout: Layout,
    port: CollectivePort,
    outgoing: Blocks,
    incoming: Blocks,
    size: int | None,
    *,
    before: Mapping[int, Pending],
) -> Steps[None]:
    """Gather the small blocks at the leader, exchange them, and scatter them.

    Blocks of some ranks are sent `before` their bundles.
    """
    part = layout.mine
    sizes_out = _bundled(layout, outgoing.sizes)
    sizes_in = _bundled(layout, incoming.sizes)
    if size is None:
        table = yield from _tables(layout, port, [*sizes_out, *sizes_in])
    else:
        table = [[*sizes_out, *sizes_in] for _ in part.members]
    out = Blocks(outgoing.memory, outgoing.offsets, sizes_out)
    mail = memoryview(b"".join(out[rank] for rank in _far_ranks(layout)))
    inbox = memoryview(bytearray(sum(sizes_in)))
    if layout.me == part.members[0]:
        yield from _lead(layout, port, mail, inbox, table, before=before)
    else:
        yield port.gather(mail, None, 0)
        yield port.scatter(None, inbox, 0)
    start = 0
    for rank in _far_ranks(layout):
        incoming[rank][: sizes_in[rank]] = inbox[start : start + sizes_in[rank]]
        start += sizes_in[rank]


def _lead(
    layout: Layout,
    port: CollectivePort,
    mail: memoryview,
    inbox: memoryview,
    table: Sequence[Sequence[int]],
    *,
    before: Mapping[int, Pending],
) -> Steps[None]:
    """Send one bundle to the leader of every other cluster, and receive one from each."""
    members = layout.mine.members
    n = layout.size
    collected = Blocks.in_a_row([sum(row[:n]) for row in table])
    arriving = Blocks.in_a_row([sum(row[n:]) for row in table])
    rooms: dict[int, memoryview] = {}
    receives: list[Pending] = []
    behind: list[int] = []
    for other in layout.remote():
        leader = other.members[0]
        total = sum(row[n + rank] for row in table for rank in other.members)
        if total:
            rooms[leader] = memoryview(bytearray(total))
            if leader in before:
                behind.append(leader)
            else:
                receives.append(port.receive(leader, rooms[leader]))
    yield port.gather(mail, collected, 0)
    cursors = list(collected.offsets)
    sends: list[Pending] = []
    for other in layout.remote():
        bundle: list[memoryview] = []
        for which in range(len(members)):
            length = sum(table[which][rank] for rank in other.members)
            bundle.append(collected.memory[cursors[which] : cursors[which] + length])
            cursors[which] += length
        if any(len(piece) for piece in bundle):
            sends.append(port.send(other.members[0], *bundle))
    if behind:  # what comes before may turn out longer than there is room for
        yield [before[leader] for leader in behind]
        receives += [port.receive(leader, rooms[leader]) for leader in behind]
    if receives:
        yield receives
    cursors = list(arriving.offsets)
    for other in layout.remote():
        room = rooms.get(other.members[0], memoryview(b""))
        _sort_in(other, room, cursors, arriving.memory, [row[n:] for row in table])
    yield [*port.scatter(arriving, inbox, 0), *sends]


def _sort_in(
    other: ClusterPart,
    bundle: memoryview,
    cursors: list[int],
    target: memoryview,
    sizes: Sequence[Sequence[int]],
) -> None:
    """Sort a bundle, ordered by source and receiver, into what each receiver will get."""
    start = 0
    for source in other.members:
        for which, row in enumerate(sizes):
            length = row[source]
            target[cursors[which] : cursors[which] + length] = bundle[start : start + length]
            cursors[which] += length
            start += length


def _far_ranks(layout: Layout) -> Iterable[int]:
    """Return the ranks of other clusters in the order in which bundles hold their blocks."""
    return (rank for other in layout.remote() for rank in other.members)


def _tables(layout: Layout, port: CollectivePort, mine: Sequence[int]) -> Steps[list[list[int]]]:
    """Return the bundled sizes of all members of this cluster, at its leader."""
    told = memoryview(array("q", mine)).cast("B")
    if layout.me != layout.mine.members[0]:
        if len(layout.mine.members) > 1:
            yield port.gather(told, None, 0)
        return []
    if len(layout.mine.members) == 1:
        return [list(mine)]
    heard = Blocks.in_a_row([len(told)] * len(layout.mine.members))
    yield port.gather(told, heard, 0)
    numbers = heard.memory.cast("q").tolist()
    return [numbers[i : i + len(mine)] for i in range(0, len(numbers), len(mine))]
