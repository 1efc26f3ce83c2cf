"""Large data within a cluster on one host: from member to member, with a wake-up for each step.

Native MPI moves a large message between two processes of a host in one step, for which it has to be
polled once. Its collectives on large data take dozens of steps at unpredictable times, and a call
that waits for them has to poll again and again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.collectives.mismatches import tags_inside
from runtime.mpi.collectives.rings import LARGE, children, parent
from runtime.mpi.progress.operations import (
    MOST_QUESTIONS,
    NOTIFIED,
    POLLED,
    NativeOperation,
    Operation,
    Task,
)

if TYPE_CHECKING:
    from runtime.collectives.blocks import Blocks
    from runtime.mpi.collectives.reductions import ElementReduction
    from runtime.mpi.collectives.rings import Neighbours


class Direct:
    """The messages of one collective within a cluster; all members post them in the same order.

    Call `look` before waiting for them. Wake-ups are kept few: everything posted before the next
    look is announced at once, and a sender is told when nothing more is expected from it.
    """

    def __init__(self, inner: MPI.Intracomm, tag: int, near: Neighbours) -> None:
        self._inner, self._near = inner, near
        self._up, self._across, _ = tags_inside(tag)
        self._messages: list[_Message] = []
        self._to_ring: set[int] = set()
        self._folding: Operation | None = None
        self._questions = 1

    @property
    def is_busy(self) -> bool:
        """Whether native MPI still uses memory of this collective."""
        return bool(self._messages)

    def look(self) -> None:
        """Poll native MPI for all messages, more often the longer nothing arrives.

        Each poll lets one message in, and earlier messages of a program come first.
        """
        messages = self._messages
        if messages:
            first = messages[0]
            for _ in range(self._questions - 1):
                first.ask()
            left = [one for one in messages if not one.ask()]
            if len(left) == len(messages):
                self._questions = min(2 * self._questions, MOST_QUESTIONS)
            else:
                self._messages, self._questions = left, 1
                awaited = {one.source_asked for one in left}
                drain = {one.source_asked for one in messages if one.done and one.is_large}
                self._to_ring |= drain - awaited - {self._near.position}
        if self._to_ring:
            for position in self._to_ring:
                self._near.wake(position)
            self._to_ring.clear()

    def spread(self, data: memoryview, root: int) -> Sequence[Operation]:
        """Broadcast the root's data: all members can read it at the same time."""
        near = self._near
        if near.position != root:
            return (self._receive(data, root, self._across, "a native bcast"),)
        return [self._send(data, one, self._across, "a native bcast") for one in near.others()]

    def exchange(self, outgoing: Blocks, incoming: Blocks, what: str) -> Sequence[Operation]:
        """Exchange one block between every two members."""
        to = self._near.others()
        if not self._keep(outgoing[self._near.position], incoming[self._near.position]):
            to.append(self._near.position)
        posted = [self._receive(incoming[one], one, self._across, what) for one in to]
        return [*posted, *(self._send(outgoing[one], one, self._across, what) for one in to)]

    def gather_at_all(
        self, mine: memoryview | None, into: Blocks, what: str
    ) -> Sequence[Operation]:
        """Gather one block of each member at all of them; None for `mine` means in place."""
        to, own = self._near.others(), into[self._near.position]
        data = own if mine is None else mine
        if mine is not None and not self._keep(mine, own):
            to.append(self._near.position)
        posted = [self._receive(into[one], one, self._across, what) for one in to]
        return [*posted, *(self._send(data, one, self._across, what) for one in to)]

    @staticmethod
    def _keep(mine: memoryview, room: memoryview) -> bool:
        """Copy what this process sends to itself, slow in native MPI; False if it does not fit.

        In that case native MPI gets it, and raises its error.
        """
        if len(mine) > len(room):
            return False
        room[: len(mine)] = mine
        return True

    def fold(
        self, reduction: ElementReduction, mine: memoryview, into: memoryview | None, root: int
    ) -> Sequence[Operation]:
        """Reduce to the root along a binomial tree; there `into` receives the result."""
        near = self._near
        place = near.place(root)
        up = near.at(parent(place), root) if place else None
        below = [near.at(one, root) for one in reversed(children(place, len(near)))]
        if up is not None and not below:
            return (self._send(mine, up, self._up, "a native reduce"),)
        size = len(mine)
        target = memoryview(bytearray(size)) if into is None else into
        rooms = [memoryview(bytearray(size)) for _ in below[1:]]
        rooms.insert(0, memoryview(bytearray(size)) if target is mine else target)
        arriving = [
            (room, self._receive(room, one, self._up, "a native reduce"))
            for room, one in zip(rooms, below, strict=True)
        ]
        folding = _Folding(self._fold(reduction, mine, target, arriving, up))
        folding.test()
        self._folding = folding
        return (folding,)

    def _fold(
        self,
        reduction: ElementReduction,
        mine: memoryview,
        target: memoryview,
        arriving: Sequence[tuple[memoryview, Operation]],
        up: int | None,
    ) -> Generator[Sequence[Operation], None, None]:
        """Fold the own value and those that arrive, in order; send the result on, if to anybody.

        The first one is received where the result belongs, unless the own value is there.
        """
        before, total = self._folding, mine
        for room, receive in arriving:
            yield (receive,)
            if reduction.commutative and total is target:
                reduction.combine(room, total)
            else:
                reduction.combine(total, room)
                total = room
        if up is not None:
            if before is not None:
                yield (before,)
            yield (self._send(total, up, self._up, "a native reduce"),)
        elif total is not target:
            target[:] = total

    def _receive(self, room: memoryview, source: int, tag: int, what: str) -> Operation:
        request = self._inner.Irecv([room, MPI.BYTE], source, tag)
        return self._posted(_Message(request, what, self._near, source, len(room)))

    def _send(self, data: memoryview, target: int, tag: int, what: str) -> Operation:
        request = self._inner.Isend([data, MPI.BYTE], target, tag)
        if target != self._near.position:
            self._to_ring.add(target)
        return self._posted(_Message(request, what, self._near))

    def _posted(self, message: _Message) -> Operation:
        self._messages.append(message)
        return message


class _Message(NativeOperation):
    """A message whose other end wakes this one; `Direct.look` polls for it."""

    __slots__ = ("_near", "is_large", "source_asked")

    def __init__(
        self, request: MPI.Request, what: str, near: Neighbours, source: int = -1, size: int = 0
    ) -> None:
        super().__init__(request, None, what)
        self._near = near
        self.source_asked = source
        """Its sender, if it is received."""
        self.is_large = size >= LARGE
        """Whether its sender waits until it is received."""

    @property
    def urgency(self) -> int:
        """It is urgent unless the other end wakes this one."""
        return NOTIFIED if self._near.all_ring else POLLED

    def test(self) -> bool:
        """Return whether it was done at the last look."""
        return self.done

    def ask(self) -> bool:
        """Poll native MPI."""
        return super().test()


class _Folding(Task):
    """A reduction to one member, which makes progress whenever it is tested."""

    __slots__ = ()

    def test(self) -> bool:
        """Make as much progress as possible."""
        self.advance()
        return self.done
