"""The calls within a cluster made of messages, for groups that have no native communicator.

Such a group is one side of an intercommunicator, or one side and the root on the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.collectives.blocks import Blocks
from runtime.collectives.layout import Layout
from runtime.collectives.port import CollectivePort, Data, InTurn, Parcel, Pending


class PointPort:
    """A `CollectivePort` for some members of a larger port, whose ranks there are given."""

    def __init__(self, whole: CollectivePort, ranks: Sequence[int], layout: Layout) -> None:
        self._whole, self._ranks, self._layout = whole, ranks, layout
        self._near = layout.mine.members
        self.call = whole.call

    def compare(self, calls: Mapping[int, int]) -> None:
        """Raise an error if a member has told another call than this one."""
        self._whole.compare({self._ranks[rank]: call for rank, call in calls.items()})

    def send(self, rank: int, *pieces: Data) -> Pending:
        """Send the pieces as one message to a member."""
        return self._whole.send(self._ranks[rank], *pieces)

    def in_turn(self, blocks: Sequence[tuple[int, memoryview]], members: int) -> InTurn:
        """Send each member its block, one after the other where a line would hold no more."""
        return self._whole.in_turn([(self._ranks[rank], block) for rank, block in blocks], members)

    def receive(self, rank: int, into: memoryview) -> Pending:
        """Receive a message of known size from a member."""
        return self._whole.receive(self._ranks[rank], into)

    def receive_pieces(self, rank: int, into: Sequence[memoryview], size: int) -> Pending:
        """Receive messages of one size and a shorter one from a member."""
        return self._whole.receive_pieces(self._ranks[rank], into, size)

    def expect(self, rank: int) -> Parcel:
        """Receive a message of unknown size from a member."""
        return self._whole.expect(self._ranks[rank])

    def barrier(self) -> Sequence[Pending]:
        """Wait for an empty message of each."""
        others = [rank for rank in self._near if rank != self._layout.me]
        nothing = memoryview(bytearray())
        return [
            *(self.receive(rank, nothing) for rank in others),
            *(self.send(rank, b"") for rank in others),
        ]

    def bcast(self, data: memoryview, root: int) -> Sequence[Pending]:
        """Send from the root to each."""
        if self._layout.position != root:
            return [self.receive(self._near[root], data)]
        return [self.send(rank, data) for rank in self._near if rank != self._layout.me]

    def gather(self, mine: memoryview | None, into: Blocks | None, root: int) -> Sequence[Pending]:
        """Send from each to the root."""
        if into is None:
            return [] if mine is None else [self.send(self._near[root], mine)]
        if mine is not None:
            into[root][:] = mine
        return [
            self.receive(rank, into[which])
            for which, rank in enumerate(self._near)
            if which != root
        ]

    def scatter(
        self, blocks: Blocks | None, mine: memoryview | None, root: int
    ) -> Sequence[Pending]:
        """Send from the root to each."""
        if blocks is None:
            return [] if mine is None else [self.receive(self._near[root], mine)]
        if mine is not None:
            mine[:] = blocks[root]
        return [
            self.send(rank, blocks[which]) for which, rank in enumerate(self._near) if which != root
        ]

    def allgather(self, mine: memoryview | None, into: Blocks) -> Sequence[Pending]:
        """Send from each to each."""
        own = self._layout.position
        if mine is not None:
            into[own][:] = mine
        others = [(w, rank) for w, rank in enumerate(self._near) if w != own]
        return [
            *(self.receive(rank, into[which]) for which, rank in others),
            *(self.send(rank, into[own]) for _, rank in others),
        ]

    def alltoall(self, outgoing: Blocks, incoming: Blocks) -> Sequence[Pending]:
        """Send from each to each."""
        own = self._layout.position
        incoming[own][:] = outgoing[own]
        others = [(w, rank) for w, rank in enumerate(self._near) if w != own]
        return [
            *(self.receive(rank, incoming[which]) for which, rank in others),
            *(self.send(rank, outgoing[which]) for which, rank in others),
        ]
