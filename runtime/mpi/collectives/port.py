"""The port of collectives to this machine: the engine's messages, native calls within a cluster."""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.collectives.turns import SendTurns
from runtime.mpi.collectives.direct import Direct
from runtime.mpi.collectives.in_pieces import InPieces
from runtime.mpi.collectives.mismatches import tags_inside
from runtime.mpi.collectives.taking_turns import TakingTurns
from runtime.mpi.progress.landings import Exactly
from runtime.mpi.progress.operations import NOTIFIED, POLLED, NativeOperation, NativeStep

if TYPE_CHECKING:
    from runtime.collectives.blocks import Blocks
    from runtime.collectives.port import Data
    from runtime.mpi.collectives.mismatches import MismatchDetector
    from runtime.mpi.collectives.reductions import ElementReduction
    from runtime.mpi.collectives.rings import Neighbours
    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Operation


class NativePort:
    """The operations that one collective on a communicator uses; see `runtime.collectives.port`."""

    def __init__(
        self,
        members: CommunicatorMembers,
        reduction: ElementReduction | None,
        near: Neighbours,
        mismatches: MismatchDetector,
        *,
        turn: int,
        tag: int,
        call: int,
    ) -> None:
        self._members, self._engine, self._inner = members, members.engine, members.inner
        self._tag, self._reduction, self._near = tag, reduction, near
        self.call = call
        """The tag of messages to other clusters, which tells all that has to be alike."""
        self._mismatches, self._turn = mismatches, turn
        self.rank = members.rank
        self._tag_bytes = memoryview(struct.pack("<q", call))
        self._tag_of_tags = tags_inside(tag)[2]
        self.direct = Direct(members.inner, tag, near)
        """Large data within the cluster."""
        self._going_on: list[Operation] = []
        self.tag_messages: list[Operation] = []
        """What members of this cluster tell each other of their calls."""

    def look(self) -> None:
        """Let multi-message operations make progress, whatever the collective waits for now."""
        self.direct.look()
        if self._going_on:
            self._going_on = [one for one in self._going_on if not one.test()]

    def compare(self, calls: Mapping[int, int]) -> None:
        """Raise OutOfStep if the call that a rank has told is another than this one."""
        self._mismatches.compare(self._turn, self.call, calls)

    def send(self, rank: int, *pieces: Data) -> Operation:
        """Send the pieces as one message to any member."""
        views = [memoryview(piece) for piece in pieces]
        return self._engine.send(self._members, rank, self._tag_for(rank), views, inner=True)

    def in_turn(self, blocks: Sequence[tuple[int, memoryview]], members: int) -> TakingTurns:
        """Send each rank its block, one after the other where a line would hold no more."""
        trips = partial(self._engine.round_trip, self._members)
        turns = TakingTurns(SendTurns(blocks, members, self.send, trips, time.monotonic))
        self._going_on.append(turns)
        return turns

    def receive(self, rank: int, into: memoryview) -> Operation:
        """Receive a message of known size from any member."""
        return self._receive(rank, Exactly(into))

    def receive_pieces(self, rank: int, into: Sequence[memoryview], size: int) -> Operation:
        """Receive messages of `size` bytes each, and a shorter, last one."""
        block = InPieces(into, size, partial(self._receive, rank))
        self._going_on.append(block)
        return block

    def _receive(self, rank: int, landing: Landing | None) -> Operation:
        tag = self._tag_for(rank)
        return self._engine.receive(self._members, rank, tag, landing, inner=True)

    def _tag_for(self, rank: int) -> int:
        return self._tag if rank in self._members.near else self.call

    def expect(self, rank: int) -> Operation:
        """Receive a message of unknown size from any member."""
        return self._receive(rank, None)

    def contribute(self, rule: str, data: Data, root: int) -> Operation:
        """Give data to the component of this cluster; the result is for the root, or for all."""
        components, members = self._engine.components, self._members
        assert components is not None
        names = [self._engine.process_of(index) for index in members.group]
        how = rule, names[root] if root >= 0 else ""
        # calls that differ must not meet
        call = f"{members.context.hex()}:{self.call}:{':'.join(how)}"
        return components.begin(call, how, names, data)

    def tell(self, position: int, *, wakes: bool = False) -> Operation:
        """Tell a member of this cluster the tag of this call."""
        request = self._inner.Isend([self._tag_bytes, MPI.BYTE], position, self._tag_of_tags)
        if wakes:
            self._near.wake(position)
        return self._kept(NativeStep(request, "a native send", urgency=POLLED, wake=None))

    def hear(self, position: int, into: memoryview, *, wakes: bool = False) -> Operation:
        """Receive the tag of what a member of this cluster calls."""
        request = self._inner.Irecv([into, MPI.BYTE], position, self._tag_of_tags)
        urgency = NOTIFIED if wakes and self._near.all_ring else POLLED
        return self._kept(NativeStep(request, "a native receive", urgency=urgency, wake=None))

    def _kept(self, step: Operation) -> Operation:
        self.tag_messages.append(step)
        return step

    def barrier(self) -> Sequence[Operation]:
        """Wait until all members of this cluster are here."""
        return (NativeOperation(self._inner.Ibarrier(), None, "a native barrier"),)

    def bcast(self, data: memoryview, root: int) -> Sequence[Operation]:
        """Broadcast the root's data to all members of this cluster."""
        if self._near.is_direct(len(data)):
            return self.direct.spread(data, root)
        request = self._inner.Ibcast([data, MPI.BYTE], root)
        return (self._near.spread(request, "a native bcast", root, len(data)),)

    def combine(self, left: memoryview, right: memoryview) -> None:
        """Set `right` to `left` operation `right`."""
        assert self._reduction is not None
        self._reduction.combine(left, right)

    def reduce(self, mine: memoryview, into: memoryview | None, root: int) -> Sequence[Operation]:
        """Reduce to the root; there `into` receives the result and may be `mine` itself."""
        reduction = self._reduction
        assert reduction is not None
        if self._near.folds_directly(len(mine)) and (reduction.commutative or not root):
            return self.direct.fold(reduction, mine, into, root)
        own = reduction.spec(mine)
        request = self._inner.Ireduce(
            MPI.IN_PLACE if into is mine else own,
            None if into is None else reduction.spec(into),
            reduction.op,
            root,
        )
        return (self._near.fold(request, "a native reduce", root, len(mine)),)

    def gather(
        self, mine: memoryview | None, into: Blocks | None, root: int
    ) -> Sequence[Operation]:
        """Gather one block of each; None for `mine` means that the root's is in place."""
        own = MPI.IN_PLACE if mine is None else [mine, MPI.BYTE]
        request = self._inner.Igatherv(own, None if into is None else _spec(into), root)
        size = 0 if into is None else into.total
        return (self._near.collect(request, "a native gather", root, size),)

    def scatter(
        self, blocks: Blocks | None, mine: memoryview | None, root: int
    ) -> Sequence[Operation]:
        """Scatter one block to each; None for `mine` leaves the root's own where it is."""
        own = MPI.IN_PLACE if mine is None else [mine, MPI.BYTE]
        request = self._inner.Iscatterv(None if blocks is None else _spec(blocks), own, root)
        size = 0 if mine is None else len(mine)
        return (self._near.hand_out(request, "a native scatter", root, size),)

    def allgather(self, mine: memoryview | None, into: Blocks) -> Sequence[Operation]:
        """Gather one block of each at all; None for `mine` means in place."""
        if self._near.is_small and self._near.is_direct(max(into.sizes)):
            return self.direct.gather_at_all(mine, into, "a native allgather")
        own = MPI.IN_PLACE if mine is None else [mine, MPI.BYTE]
        request = self._inner.Iallgatherv(own, _spec(into))
        return (NativeOperation(request, None, "a native allgather"),)

    def alltoall(self, outgoing: Blocks, incoming: Blocks) -> Sequence[Operation]:
        """Exchange one block between every two members."""
        if self._near.is_small:
            return self.direct.exchange(outgoing, incoming, "a native alltoall")
        request = self._inner.Ialltoallv(_spec(outgoing), _spec(incoming))
        return (NativeOperation(request, None, "a native alltoall"),)


def _spec(blocks: Blocks) -> list[object]:
    return [blocks.memory, (blocks.sizes, blocks.offsets), MPI.BYTE]
