"""Reductions and scans that keep the order of the ranks, wherever the members are.

A run is a range of consecutive ranks in one cluster. Each cluster's leader folds its runs; in every
site runs that follow each other are folded further, then the sites exchange what is left. Where
ranks lie in order, one partial result crosses each link; with ranks dealt to the clusters in turn,
no fewer than one for each run can do. Values are blobs, folded by `merge` from left to right in the
same groups everywhere, so that all get the same result. One WAN latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from runtime.collectives.broadcast import bcast_blob
from runtime.collectives.layout import ClusterPart, Layout
from runtime.collectives.parcels import (
    Blob,
    bundle,
    gather_in_cluster,
    scatter_in_cluster,
    unbundle,
)
from runtime.collectives.port import CollectivePort, Pending, Steps, content

Merge: TypeAlias = Callable[[Sequence[Blob]], Blob]

Spans: TypeAlias = "dict[tuple[int, int], Blob]"
"""Partial results by the first and the last run they cover."""


def spans(runs: Iterable[int]) -> list[tuple[int, int]]:
    """Return the ranges of consecutive runs.

    >>> spans([4, 0, 1])
    [(0, 1), (4, 4)]
    """
    found: list[tuple[int, int]] = []
    for run in sorted(runs):
        if found and found[-1][1] + 1 == run:
            found[-1] = (found[-1][0], run)
        else:
            found.append((run, run))
    return found


def fold(held: Spans, merge: Merge) -> Spans:
    """Merge consecutive partial results."""
    groups: list[list[tuple[int, int]]] = []
    for span in sorted(held):
        if groups and groups[-1][-1][1] + 1 == span[0]:
            groups[-1].append(span)
        else:
            groups.append([span])
    return {
        (group[0][0], group[-1][1]): (
            held[group[0]] if len(group) == 1 else merge([held[span] for span in group])
        )
        for group in groups
    }


class _Runs:
    """The runs of the clusters and sites of a layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.by_part: dict[int, list[int]] = {part.index: [] for part in layout.parts}
        for number, (part, _) in enumerate(layout.runs):
            self.by_part[part.index].append(number)

    def of_part(self, part: ClusterPart) -> list[int]:
        return self.by_part[part.index]

    def of_site(self, site: int) -> list[int]:
        return [run for part in self.layout.sites[site] for run in self.of_part(part)]

    def fold_mine(self, blobs: Sequence[Blob], merge: Merge) -> Spans:
        """Fold the values of this cluster's members run by run."""
        values = dict(zip(self.layout.mine.members, blobs, strict=True))
        held: Spans = {}
        for run in self.of_part(self.layout.mine):
            ranks = self.layout.runs[run][1]
            one = len(ranks) == 1
            held[run, run] = values[ranks[0]] if one else merge([values[r] for r in ranks])
        return held


def _receive(
    port: CollectivePort, wanted: Sequence[tuple[int, Sequence[int]]]
) -> Steps[list[Spans]]:
    """Receive the partial results of some runs from each of some members."""
    parcels = [port.expect(source) for source, _ in wanted]
    if parcels:
        yield parcels
    received: list[Spans] = []
    for parcel, (_, runs) in zip(parcels, wanted, strict=True):
        keys = spans(runs)
        blobs = unbundle(content(parcel), len(keys))
        received.append(dict(zip(keys, blobs, strict=True)))
    return received


def _fold_site(
    port: CollectivePort, runs: _Runs, held: Spans, merge: Merge, root: int
) -> Steps[Spans]:
    """Bring this site's partial results to its head; elsewhere nothing is left."""
    layout = runs.layout
    head = layout.gate(layout.mine.site, root)
    if layout.me != head:
        yield (port.send(head, *bundle(list(held.values()))),)
        return {}
    others = [p for p in layout.my_site if p is not layout.mine]
    received = yield from _receive(port, [(p.leader(root), runs.of_part(p)) for p in others])
    for more in received:
        held = {**held, **more}
    return fold(held, merge)


def reduce_ordered(
    layout: Layout, port: CollectivePort, blob: Blob, merge: Merge, root: int
) -> Steps[Blob | None]:
    """Return all values folded in rank order at the root, None elsewhere."""
    leader = layout.mine.leader(root)
    blobs = yield from gather_in_cluster(layout, port, blob, leader)
    if layout.me != leader:
        return None
    runs = _Runs(layout)
    held = fold(runs.fold_mine(blobs, merge), merge)
    held = yield from _fold_site(port, runs, held, merge, root)
    own = layout.mine.site
    if layout.me == root:
        sites = [site for site in range(len(layout.sites)) if site != own]
        wanted = [(layout.gate(site, root), runs.of_site(site)) for site in sites]
        for more in (yield from _receive(port, wanted)):
            held = {**held, **more}
        (result,) = fold(held, merge).values()
        return result
    if held:
        yield (port.send(root, *bundle(list(held.values()))),)
    return None


def allreduce_ordered(
    layout: Layout, port: CollectivePort, blob: Blob, merge: Merge
) -> Steps[Blob]:
    """Return all values folded in rank order, the same bytes at every member."""
    part = layout.mine
    leader = part.members[0]
    blobs = yield from gather_in_cluster(layout, port, blob, leader)
    result: Blob | None = None
    if layout.me == leader:
        result = yield from _allreduce_leaders(layout, port, blobs, merge)
    if len(part.members) == 1 and result is not None:
        return result
    inside = Layout([(0, 0)] * len(part.members), layout.position)
    return (yield from bcast_blob(inside, port, result, 0))


def _allreduce_leaders(
    layout: Layout, port: CollectivePort, blobs: Sequence[Blob], merge: Merge
) -> Steps[Blob]:
    runs, own = _Runs(layout), layout.mine.site
    held = fold(runs.fold_mine(blobs, merge), merge)
    held = yield from _fold_site(port, runs, held, merge, -1)
    if layout.me != layout.gate(own):
        parcel = port.expect(layout.gate(own))
        yield (parcel,)
        return content(parcel)
    sites = [site for site in range(len(layout.sites)) if site != own]
    message = bundle(list(held.values()))
    sent: list[Pending] = [port.send(layout.gate(site), *message) for site in sites]
    wanted = [(layout.gate(site), runs.of_site(site)) for site in sites]
    for more in (yield from _receive(port, wanted)):
        held = {**held, **more}
    (result,) = fold(held, merge).values()
    sent += [port.send(p.members[0], result) for p in layout.my_site if p is not layout.mine]
    if sent:
        yield sent
    return result


def scan_ordered(
    layout: Layout, port: CollectivePort, blob: Blob, merge: Merge, *, exclusive: bool = False
) -> Steps[Blob | None]:
    """Return the values of the ranks up to this one, or before it, folded in rank order."""
    leader = layout.mine.members[0]
    blobs = yield from gather_in_cluster(layout, port, blob, leader)
    results: list[Blob] = []
    if layout.me == leader:
        runs = _Runs(layout)
        before = yield from _runs_before(layout, port, runs, runs.fold_mine(blobs, merge), merge)
        results = _prefixes(runs, blobs, before, merge, exclusive)
    mine = yield from scatter_in_cluster(layout, port, results, leader)
    return None if exclusive and layout.me == 0 else mine


def _runs_before(
    layout: Layout, port: CollectivePort, runs: _Runs, mine: Spans, merge: Merge
) -> Steps[Spans]:
    """Return, at a leader, what comes before and between its own runs."""
    own = layout.mine.site
    head = layout.gate(own)
    last = {p.index: max(runs.of_part(p)) for p in layout.parts}
    if layout.me != head:
        yield (port.send(head, *bundle(list(mine.values()))),)
        told_me = _between(runs, layout.mine, last)
        if not told_me:
            return {}
        return (yield from _receive(port, [(head, told_me)]))[0]
    near = [p for p in layout.my_site if p is not layout.mine]
    held = dict(mine)
    for more in (yield from _receive(port, [(p.members[0], runs.of_part(p)) for p in near])):
        held.update(more)
    sent: list[Pending] = []
    folded = fold(held, merge)
    wanted: list[tuple[int, Sequence[int]]] = []
    for site in range(len(layout.sites)):
        if site == own:
            continue
        end = max(runs.of_site(site))
        told = [value for (_, final), value in sorted(folded.items()) if final < end]
        if told:
            sent.append(port.send(layout.gate(site), *bundle(told)))
        heard = [run for run in runs.of_site(site) if run < max(runs.of_site(own))]
        if heard:
            wanted.append((layout.gate(site), heard))
    for more in (yield from _receive(port, wanted)):
        held.update(more)
    for part in near:
        needed = spans(_between(runs, part, last))
        if needed:
            found = [_covering(held, span, merge) for span in needed]
            sent.append(port.send(part.members[0], *bundle(found)))
    if sent:
        yield sent
    return {key: _covering(held, key, merge) for key in spans(_between(runs, layout.mine, last))}


def _between(runs: _Runs, part: ClusterPart, last: dict[int, int]) -> list[int]:
    """Return the runs of other clusters that come before the last run of one."""
    own = set(runs.of_part(part))
    return [run for run in range(last[part.index]) if run not in own]


def _covering(held: Spans, key: tuple[int, int], merge: Merge) -> Blob:
    """Return the fold of the spans that make up one longer span."""
    inside = {span: value for span, value in held.items() if key[0] <= span[0] <= key[1]}
    (value,) = fold(inside, merge).values()
    return value


def _prefixes(
    runs: _Runs,
    blobs: Sequence[Blob],
    before: Spans,
    merge: Merge,
    exclusive: bool,
) -> list[Blob]:
    """Return the scan of every member of this cluster."""
    layout = runs.layout
    values = dict(zip(layout.mine.members, blobs, strict=True))
    ends = {final: value for (_, final), value in before.items()}
    results: dict[int, Blob] = {}
    reached: Blob | None = None
    for run in runs.of_part(layout.mine):
        if run - 1 in ends:
            reached = ends[run - 1] if reached is None else merge([reached, ends[run - 1]])
        for rank in layout.runs[run][1]:
            follows = values[rank] if reached is None else merge([reached, values[rank]])
            results[rank] = b"" if reached is None else reached
            if not exclusive:
                results[rank] = follows
            reached = follows
    return [results[rank] for rank in layout.mine.members]
