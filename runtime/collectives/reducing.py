"""Reduce, allreduce and reduce_scatter where ranks lie in order or the order does not matter.

Optimum, V bytes, S sites:

* reduce: V over each link from another site to the root's, V over each link from another cluster
  of a site to the site's head; one WAN latency.
* allreduce: V over every link between two sites, each way, at the same time; one WAN latency. When
  it is spread, pieces are owned by the sites in turn: then it is 2V/S over every such link and two
  latencies, which pays from three sites on.
* reduce_scatter: over a link between sites, what the members behind it get; one WAN latency.

Inside a site a piece goes to its head once and back once; the heads are spread over the clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.collectives.blocks import SEGMENT, Batches, Blocks, cut
from runtime.collectives.converging import EVERYWHERE, Convergence, DataPiece, reduce_in_cluster
from runtime.collectives.layout import Layout
from runtime.collectives.port import Pending, ReducingPort, Steps


def reduce(
    layout: Layout,
    port: ReducingPort,
    mine: memoryview,
    result: memoryview | None,
    root: int,
    *,
    grain: int,
    segment: int = SEGMENT,
) -> Steps[None]:
    """Reduce all members' `mine` to the root's `result`, which may be `mine` itself."""
    pieces = [DataPiece(n, p, root) for n, p in enumerate(cut(len(mine), grain, segment))]
    if layout.me != layout.mine.leader(root):
        pending = _flat(reduce_in_cluster(layout, port, mine, mine, pieces))
        if pending:
            yield pending
        return
    total = memoryview(bytearray(len(mine))) if result is None else result
    reduced = reduce_in_cluster(layout, port, mine, total, pieces)
    work = Convergence(layout, port, total, pieces)
    yield from work.fold_clusters(pieces, reduced)
    if layout.me == root:
        for piece in pieces:
            yield from work.fold_sites(piece)
    if unfinished := work.unfinished():
        yield unfinished


def allreduce(
    layout: Layout,
    port: ReducingPort,
    mine: memoryview,
    result: memoryview,
    *,
    grain: int,
    segment: int = SEGMENT,
    is_spread: bool = False,
) -> Steps[None]:
    """Reduce all members' `mine` to every member's `result`, which may be `mine` itself."""
    part = layout.mine
    places = cut(len(mine), grain, segment)
    sites = len(layout.sites)
    if is_spread:
        pieces = [
            DataPiece(n, p, layout.gate(n % sites, turn=n // sites)) for n, p in enumerate(places)
        ]
    else:
        pieces = [DataPiece(n, p) for n, p in enumerate(places)]
    told_in_turn = sorted(pieces, key=lambda piece: _turn(layout, piece))
    batches = Batches(places)
    if layout.me != part.members[0]:
        pending = _flat(reduce_in_cluster(layout, port, mine, mine, pieces))
        for piece in told_in_turn:
            given = batches.complete(piece.number)
            pending += () if given is None else port.bcast(result[given], 0)
        if pending:
            yield pending
        return
    reduced = reduce_in_cluster(layout, port, mine, result, pieces)
    work = Convergence(layout, port, result, pieces)
    arriving = {
        piece.number: port.receive(_teller(layout, piece), result[piece.place])
        for piece in told_in_turn
        if piece.ends_at(layout) != layout.me
    }
    yield from work.fold_clusters(pieces, reduced)
    told: list[Pending] = []
    for piece in told_in_turn:
        if piece.number in arriving:
            yield (arriving[piece.number],)
        else:
            yield from work.fold_sites(piece)
        data = result[piece.place]
        told += [port.send(leader, data) for leader in _told_by_me(layout, piece)]
        given = batches.complete(piece.number)
        if given is not None and len(part.members) > 1:
            told += port.bcast(result[given], 0)
    told += work.unfinished()
    if told:
        yield told


def _turn(layout: Layout, piece: DataPiece) -> tuple[int, int]:
    """Return the order in which this cluster's leader handles a result.

    First those it computes, then those computed in its site, then those it gets from another site
    and forwards, at last those that are forwarded to it: nobody delays what others wait for.
    """
    leader, site = layout.mine.members[0], layout.mine.site
    ends, head = piece.ends_at(layout), piece.head(layout, site)
    if ends == leader:
        return 0, piece.number
    if layout.part_of[ends].site == site:
        return 1, piece.number
    return 2 if head == leader else 3, piece.number


def _teller(layout: Layout, piece: DataPiece) -> int:
    """Return the member that sends the result of a piece that does not end here."""
    head = piece.head(layout, layout.mine.site)
    return piece.owner if head == layout.me else head


def _told_by_me(layout: Layout, piece: DataPiece) -> list[int]:
    """Return the leaders that get the result of a piece from this one."""
    mine = layout.mine
    if piece.head(layout, mine.site) != layout.me:
        return []
    told: list[int] = []
    if piece.owner == layout.me and piece.owner != EVERYWHERE:
        told += [piece.head(layout, s) for s in range(len(layout.sites)) if s != mine.site]
    return told + [part.members[0] for part in layout.my_site if part is not mine]


def reduce_scatter(
    layout: Layout,
    port: ReducingPort,
    mine: Blocks,
    result: memoryview,
    *,
    grain: int,
    segment: int = SEGMENT,
) -> Steps[None]:
    """Reduce all members' blocks, and bring block i to member i as `result`."""
    part = layout.mine
    ranks = [rank for other in layout.parts for rank in other.members]
    ordered = Blocks.in_a_row([mine.sizes[rank] for rank in ranks])
    for which, rank in enumerate(ranks):
        ordered[which][:] = mine[rank]
    pieces: list[DataPiece] = []
    begin = 0
    own = slice(0, 0)
    for other in layout.parts:
        end = begin + sum(mine.sizes[rank] for rank in other.members)
        for place in cut(end, grain, segment, begin):
            pieces.append(DataPiece(len(pieces), place, other.members[0]))
        own = slice(begin, end) if other is part else own
        begin = end
    data = ordered.memory
    reduced = reduce_in_cluster(layout, port, data, data, pieces)
    pending: list[Pending] = []
    mine_sizes = [mine.sizes[rank] for rank in part.members]
    if layout.me == part.members[0]:
        work = Convergence(layout, port, data, pieces)
        yield from work.fold_clusters(pieces, reduced)
        for piece in pieces:
            if piece.owner == layout.me:
                yield from work.fold_sites(piece)
        pending += work.unfinished()
        if len(part.members) == 1:
            result[:] = data[own]
        else:
            pending += port.scatter(Blocks.in_a_row(mine_sizes, data[own]), result, 0)
    else:
        pending += _flat(reduced)
        pending += port.scatter(None, result, 0)
    if pending:
        yield pending


def _flat(started: Sequence[Sequence[Pending]]) -> list[Pending]:
    return [operation for operations in started for operation in operations]
