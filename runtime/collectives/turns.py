"""Blocks for the members of another site, which take turns on the line to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from runtime.collectives.layout import ClusterPart
    from runtime.collectives.port import CollectivePort, Pending

PIECE = 384 << 10
"""The bytes of a block that are sent at a time: more than the wire copies, which completes at once.
"""

UNDER_WAY = 3 << 20
"""Bytes that a site may have in transit to another one; each member may have one piece in any case.

It grows by what arrives in time, and shrinks by what arrives late.
"""

IN_TIME, LATE = 1.5, 2.5
"""How many round trips a piece takes that waited for few others on the line, and for too many."""

MOST_PIECES = 64
"""The most blocks in transit: each is tested again and again."""

FAR = 1e-3
"""Seconds of a round trip from which taking turns on a line is worth it."""

_Sent = TypeVar("_Sent", bound="Pending")


def pieces(
    block: memoryview, here: ClusterPart, there: ClusterPart, size: int = PIECE
) -> list[memoryview]:
    """Cut what goes from one cluster to another into pieces, if it leaves the site.

    The last piece is shorter than the others, possibly empty, so that it is recognised by its size.
    """
    if here.site == there.site:
        return [block]
    return [block[start : start + size] for start in range(0, len(block) + 1, size)]


def receive_whole(
    port: CollectivePort,
    rank: int,
    into: memoryview,
    here: ClusterPart,
    there: ClusterPart,
    *,
    size: int = PIECE,
) -> Pending:
    """Receive what a member of the cluster `there` sends to one of `here` in such pieces."""
    if here.site == there.site:
        return port.receive(rank, into)
    return port.receive_pieces(rank, pieces(into, there, here, size), size)


class SendTurns(Generic[_Sent]):
    """Sends blocks one by one, each as soon as there is room for it.

    A site has `members` that do the same, each with its share of the line. Blocks to near ranks, or
    to ranks at an unknown distance, are sent at once, and so is what the wire copies. The driver
    tests the sends that are `under_way`, and calls `go_on` when some may be done.
    """

    def __init__(
        self,
        blocks: Iterable[tuple[int, memoryview]],
        members: int,
        send: Callable[[int, memoryview], _Sent],
        round_trip: Callable[[int], float],
        now: Callable[[], float],
        *,
        under_way: int = UNDER_WAY,
    ) -> None:
        """Send each rank its block; `round_trip` returns the seconds to a rank and back, or 0.

        A site begins with so many bytes `under_way`.
        """
        self._left = deque(blocks)
        self._send = send
        self._round_trip = round_trip
        self._now = now
        self._share = self._room = under_way / members
        # What was sent, its size unless it was done at once, when, and the seconds there and back
        self._under_way: list[tuple[_Sent, int, float, float]] = []

    @property
    def under_way(self) -> list[_Sent]:
        """All sends that may not be done."""
        return [sent for sent, *_ in self._under_way]

    @property
    def has_begun_all(self) -> bool:
        """Whether no block waits for its turn."""
        return not self._left

    @property
    def is_over(self) -> bool:
        """Whether all blocks are sent and done."""
        return not self._left and all(one.done for one in self.under_way)

    def go_on(self) -> None:
        """Forget sends that are done, and send what there is room for now."""
        now = self._now()
        self._forget_done(now)
        taken = sum(size for _, size, *_ in self._under_way)
        count = len(self._under_way)
        while self._left and count < MOST_PIECES:
            rank, block = self._left[0]
            trip = self._round_trip(rank)
            if taken and trip >= FAR and taken + len(block) > self._room:
                return
            del self._left[0]
            sent = self._send(rank, block)
            size = 0 if sent.done else len(block)  # it was copied, or failed at once
            self._under_way.append((sent, size, now, trip))
            taken += size
            count += not sent.done

    def _forget_done(self, now: float) -> None:
        """Forget sends that are done, and adapt the capacity of the line."""
        left = []
        for one in self._under_way:
            sent, size, begun, trip = one
            if not sent.done:
                left.append(one)
            elif now - begun <= IN_TIME * trip:
                self._room += size
            elif now - begun > LATE * trip:
                self._room = max(self._share, self._room - size)
        self._under_way = left
