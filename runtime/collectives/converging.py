"""Combines the partial results of a reduction: in the cluster, in the site, between sites.

The data is cut into pieces. Every cluster reduces a piece natively to its leader; in every site
one leader, the piece's head, folds what the clusters have; then either the heads exchange their
partial results (`EVERYWHERE`) or send them to the piece's owner, who folds them. Pieces are spread
over the clusters of a site. Folds go in the order of the sites and of the clusters in them, so
every process that folds gets the same result, bit for bit, in every run.
"""

from __future__ import annotations

from collections.abc import Sequence

from gcm.records import dataclass
from runtime.collectives.layout import Layout
from runtime.collectives.port import Pending, ReducingPort, Steps

EVERYWHERE = -1
"""The owner of a piece whose result every head computes."""

AHEAD = 4
"""How many pieces sends to the heads run ahead of folds, which have to wait for others."""


@dataclass(frozen=True, slots=True)
class DataPiece:
    """A piece of the data, and who gets its result."""

    number: int
    place: slice
    owner: int = EVERYWHERE

    @property
    def size(self) -> int:
        """Return its size in bytes."""
        return int(self.place.stop - self.place.start)

    def head(self, layout: Layout, site: int) -> int:
        """Return the member that folds the piece for a site."""
        return layout.gate(site, self.owner, turn=self.number)

    def ends_at(self, layout: Layout) -> int:
        """Return the member that computes the result: one for each site, or one for all."""
        return self.head(layout, layout.mine.site) if self.owner == EVERYWHERE else self.owner


def reduce_in_cluster(
    layout: Layout,
    port: ReducingPort,
    mine: memoryview,
    total: memoryview,
    pieces: Sequence[DataPiece],
) -> list[Sequence[Pending]]:
    """Start the native reductions of all pieces to the leaders; copy in a cluster of one."""
    part = layout.mine
    if len(part.members) == 1:
        if total is not mine:
            total[:] = mine
        return [()] * len(pieces)
    started: list[Sequence[Pending]] = []
    for piece in pieces:
        leader = part.leader(piece.owner)
        source = mine[piece.place]
        into = None
        if leader == layout.me:
            into = source if total is mine else total[piece.place]
        started.append(port.reduce(source, into, part.members.index(leader)))
    return started


class Convergence:
    """The work of one leader on every piece, in two rounds; `total` receives the results.

    All receives are started first, since the messages between two leaders are ordered.
    """

    def __init__(
        self, layout: Layout, port: ReducingPort, total: memoryview, pieces: Sequence[DataPiece]
    ) -> None:
        self._layout, self._port, self._total = layout, port, total
        self._partial: dict[int, memoryview] = {}
        self._sent: dict[int, list[Pending]] = {}
        self._near = {
            piece.number: self._expect(piece, [p.leader(piece.owner) for p in layout.my_site])
            for piece in pieces
            if piece.head(layout, layout.mine.site) == layout.me
        }
        self._far = {
            piece.number: self._expect(
                piece, [piece.head(layout, site) for site in range(len(layout.sites))]
            )
            for piece in pieces
            if piece.ends_at(layout) == layout.me
        }

    def _expect(
        self, piece: DataPiece, sources: Sequence[int]
    ) -> list[tuple[memoryview, Pending] | None]:
        """Start to receive the piece from each source; None stands for this leader itself."""
        arriving: list[tuple[memoryview, Pending] | None] = []
        for source in sources:
            if source == self._layout.me:
                arriving.append(None)
            else:
                room = memoryview(bytearray(piece.size))
                arriving.append((room, self._port.receive(source, room)))
        return arriving

    def fold_clusters(
        self, pieces: Sequence[DataPiece], reduced: Sequence[Sequence[Pending]]
    ) -> Steps[None]:
        """Combine the clusters of this site, and send the results to those that need them."""
        layout, site = self._layout, self._layout.mine.site
        folds = {piece.number for piece in pieces if piece.head(layout, site) == layout.me}
        for piece in sorted(
            pieces, key=lambda one: one.number if one.number in folds else one.number - AHEAD
        ):
            if reduced[piece.number]:
                yield reduced[piece.number]
            own = self._total[piece.place]
            if piece.number in folds:
                partial = yield from self._fold(self._near.pop(piece.number), own)
                self._partial[piece.number] = partial
                self._tell(piece, partial)
            else:
                head = piece.head(layout, site)
                self._sent[piece.number] = [self._port.send(head, own)]

    def _tell(self, piece: DataPiece, partial: memoryview) -> None:
        """Send this site's partial result to the other sites, or to the owner."""
        layout = self._layout
        if piece.owner == EVERYWHERE:
            targets = [piece.head(layout, site) for site in range(len(layout.sites))]
        else:
            targets = [piece.owner]
        self._sent[piece.number] = [
            self._port.send(target, partial) for target in targets if target != layout.me
        ]

    def fold_sites(self, piece: DataPiece) -> Steps[None]:
        """Combine the sites where the piece ends; the result is in `total` then."""
        number = piece.number
        sent = self._sent.pop(number, [])
        if sent:
            yield sent
        result = yield from self._fold(self._far.pop(number), self._partial.pop(number))
        target = self._total[piece.place]
        if result is not target:
            target[:] = result

    def _fold(
        self, arriving: Sequence[tuple[memoryview, Pending] | None], own: memoryview
    ) -> Steps[memoryview]:
        """Fold received values and the own one from left to right; overwrites the right one."""
        waits = [arrival[1] for arrival in arriving if arrival is not None]
        if not waits:
            return own
        yield waits
        views = [own if arrival is None else arrival[0] for arrival in arriving]
        left = views[0]
        for right in views[1:]:
            self._port.combine(left, right)
            left = right
        return left

    def unfinished(self) -> list[Pending]:
        """Return the sends that are still pending."""
        return [operation for sends in self._sent.values() for operation in sends]
