"""What an algorithm needs from the machine: messages between clusters, native calls within one.

An algorithm is a generator. It starts operations through a `CollectivePort` and yields those it has
to wait for; it is resumed when all of them are done, or gets the error of one that failed. It uses
no MPI, socket or clock, so the tests run all members of a communicator in one process and count
messages.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from runtime.collectives.blocks import Blocks

_T = TypeVar("_T")

Data: TypeAlias = "memoryview | bytes | bytearray"


class Pending(Protocol):
    """An operation that was started."""

    done: bool
    """Whether it is finished."""


class Parcel(Pending, Protocol):
    """A receive of a message whose size only the sender knows."""

    data: bytes | bytearray | memoryview | None
    """The message, once the operation is done."""


class InTurn(Pending, Protocol):
    """Blocks that are sent in turn."""

    @property
    def has_begun_all(self) -> bool:
        """Whether no block waits for its turn."""


def content(parcel: Parcel) -> memoryview:
    """Return the received message; an empty one may be None."""
    return memoryview(b"" if parcel.data is None else parcel.data)


Steps: TypeAlias = Generator[Sequence[Pending], None, _T]


class CollectivePort(Protocol):
    """One member's way to the others, for one collective operation.

    Messages between two members arrive in the order in which they were sent. Operations of several
    messages make progress whatever the algorithm waits for. The calls within the cluster are
    collective over its members: all make the same ones in the same order. `root` is a position
    among them, in rank order. Data must not be changed until its operation is done.
    """

    call: int
    """What all members have to make alike: the operation, and what it reduces by."""

    def compare(self, calls: Mapping[int, int]) -> None:
        """Raise an error if the call that a rank has told is another than that of this member."""

    def send(self, rank: int, *pieces: Data) -> Pending:
        """Send the pieces as one message to any member."""

    def in_turn(self, blocks: Sequence[tuple[int, memoryview]], members: int) -> InTurn:
        """Send each rank its block, one after the other where a line would hold no more.

        `members` members of this site do the same at the same time; see
        `runtime.collectives.turns`.
        """

    def receive(self, rank: int, into: memoryview) -> Pending:
        """Receive a message of known size from any member."""

    def receive_pieces(self, rank: int, into: Sequence[memoryview], size: int) -> Pending:
        """Receive messages of `size` bytes each and a shorter, last one.

        It fails where the sender has more or less data than there is room for, and ends with the
        sender's last message all the same.
        """

    def expect(self, rank: int) -> Parcel:
        """Receive a message of unknown size from any member."""

    def barrier(self) -> Sequence[Pending]:
        """Wait until all members of this cluster have called."""

    def bcast(self, data: memoryview, root: int) -> Sequence[Pending]:
        """Broadcast the root's data to all members of this cluster."""

    def gather(self, mine: memoryview | None, into: Blocks | None, root: int) -> Sequence[Pending]:
        """Gather one block of each; None for `mine` means that the root's is in place."""

    def scatter(
        self, blocks: Blocks | None, mine: memoryview | None, root: int
    ) -> Sequence[Pending]:
        """Scatter one block to each; None for `mine` leaves the root's own where it is."""

    def allgather(self, mine: memoryview | None, into: Blocks) -> Sequence[Pending]:
        """Gather one block of each at all; None for `mine` means in place."""

    def alltoall(self, outgoing: Blocks, incoming: Blocks) -> Sequence[Pending]:
        """Exchange one block between every two members."""


class ReducingPort(CollectivePort, Protocol):
    """A port of a reduction, which knows the operation and the type of the elements."""

    def combine(self, left: memoryview, right: memoryview) -> None:
        """Set `right` to `left` operation `right`."""

    def reduce(self, mine: memoryview, into: memoryview | None, root: int) -> Sequence[Pending]:
        """Reduce to the root; there `into` receives the result and may be `mine` itself."""
