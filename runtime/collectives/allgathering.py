"""Allgather: natively in every cluster, then each cluster's blocks once to every site.

Optimum: over the link from one site to another go the blocks of the first site, once; inside a
site, what a cluster has or was sent goes once to each other cluster. The clusters of a site share
the work, and segments are passed on as they come: one WAN latency and the time of one crossing.
"""

from __future__ import annotations

from collections.abc import Iterator

from gcm.records import dataclass
from runtime.collectives.blocks import SEGMENT, Batches, Blocks, cut
from runtime.collectives.layout import ClusterPart, Layout
from runtime.collectives.port import CollectivePort, Pending, Steps


@dataclass(frozen=True, slots=True)
class _Arrival:
    """The blocks of another cluster, on their way to this one."""

    part: ClusterPart
    source: int
    """The leader that sends them to this one."""
    onwards: list[int]
    """Leaders of this site that receive them from this one."""
    room: memoryview
    segments: list[slice]
    batches: Batches

    def __getitem__(self, number: int) -> memoryview:
        """Return the memory of one segment."""
        return self.room[self.segments[number]]


def allgather(
    layout: Layout,
    port: CollectivePort,
    mine: memoryview | None,
    into: Blocks,
    segment: int = SEGMENT,
) -> Steps[None]:
    """Bring every member's block to all; None for `mine` means in place."""
    part = layout.mine
    alone = len(part.members) == 1
    if not alone:
        yield port.allgather(mine, into.of(part.members))
    elif mine is not None:
        into[layout.me][:] = mine
    leading = layout.me == part.members[0]
    pending: list[Pending] = []
    arrivals = [_arrival(layout, other, into, segment) for other in layout.remote()]
    turns = list(_in_turn(layout, arrivals))
    coming: list[Pending] = []
    if leading:
        coming = [port.receive(arrival.source, arrival[number]) for arrival, number in turns]
        pending += _send_mine(layout, port, into.of(part.members).packed(), segment)
    for turn, (arrival, number) in enumerate(turns):
        if leading:
            yield (coming[turn],)
            pending += [port.send(leader, arrival[number]) for leader in arrival.onwards]
        given = arrival.batches.complete(number)
        if given is not None and not alone:
            pending += port.bcast(arrival.room[given], 0)
    if pending:
        yield pending
    for arrival in arrivals:
        blocks = into.of(arrival.part.members)
        if blocks.joined() is None:
            blocks.fill(arrival.room)


def _send_mine(
    layout: Layout, port: CollectivePort, data: memoryview, segment: int
) -> list[Pending]:
    """Send this cluster's blocks to one leader of every other site and to those of this site."""
    part = layout.mine
    targets = [
        layout.gate(site, turn=part.index) for site in range(len(layout.sites)) if site != part.site
    ]
    targets += [other.members[0] for other in layout.my_site if other is not part]
    return [port.send(leader, data[s]) for s in cut(len(data), 1, segment) for leader in targets]


def _arrival(layout: Layout, other: ClusterPart, into: Blocks, segment: int) -> _Arrival:
    blocks = into.of(other.members)
    joined = blocks.joined()
    room = memoryview(bytearray(blocks.total)) if joined is None else joined
    mine, source, onwards = layout.mine, other.members[0], list[int]()
    if other.site != mine.site:
        receiver = layout.gate(mine.site, turn=other.index)
        if receiver == mine.members[0]:
            onwards = [part.members[0] for part in layout.my_site if part is not mine]
        else:
            source = receiver
    segments = cut(len(room), 1, segment)
    return _Arrival(other, source, onwards, room, segments, Batches(segments))


def _in_turn(layout: Layout, arrivals: list[_Arrival]) -> Iterator[tuple[_Arrival, int]]:
    """Yield the segment numbers in the order of receiving, first those of this site.

    Segments are forwarded before any wait for segments that others forward.
    """
    turns: list[tuple[int, int, int]] = []
    for which, arrival in enumerate(arrivals):
        far = arrival.part.site != layout.mine.site
        passed_on = far and arrival.source != arrival.part.members[0]
        for number in range(len(arrival.segments)):
            turns.append((number + passed_on if far else -1, which if far else number, which))
    numbers = [0] * len(arrivals)
    for *_, which in sorted(turns):
        yield arrivals[which], numbers[which]
        numbers[which] += 1
