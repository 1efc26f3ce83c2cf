"""Blocks for the members of another site, which take turns on the line to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from runtime.collectives.port import Pending

UNDER_WAY = 4 << 20
"""Bytes that a site has on their way to another one, but each of its members one block at least."""

FASTEST = 400e6
"""Bytes per second; where such a line holds more in its round trip, that much is on its way."""

FAR = 1e-3
"""Seconds of a round trip from which on a line is worth to be waited for."""

_Sent = TypeVar("_Sent", bound="Pending")


class Turns(Generic[_Sent]):
    """Sends blocks one by one, each as soon as there is room for it.

    A site has `members` that do the same, of which each has its share of the line. What is near, or
    nobody knows how far, is sent at once, and so is what the wire copies. Whoever drives this looks
    after what is `under_way`, and calls `go_on` when some of it may be done.
    """

    def __init__(
        self,
        blocks: Iterable[tuple[int, memoryview]],
        members: int,
        send: Callable[[int, memoryview], _Sent],
        round_trip: Callable[[int], float],
    ) -> None:
        """Send to each rank its block; `round_trip` tells the seconds to a rank and back, or 0."""
        self._left = deque(blocks)
        self._members = members
        self._send = send
        self._round_trip = round_trip
        self._under_way: list[tuple[_Sent, int]] = []

    @property
    def under_way(self) -> list[_Sent]:
        """All that was sent and may not be done."""
        return [sent for sent, _ in self._under_way]

    @property
    def has_begun_all(self) -> bool:
        """Whether no block waits for its turn."""
        return not self._left

    @property
    def is_over(self) -> bool:
        """Whether all blocks were sent, and are done."""
        return not self._left and all(one.done for one, _ in self._under_way)

    def go_on(self) -> None:
        """Forget what is done, and send what there is room for now."""
        self._under_way = [one for one in self._under_way if not one[0].done]
        taken = sum(size for _, size in self._under_way)
        while self._left:
            rank, block = self._left[0]
            if taken and taken + len(block) > self._room(rank):
                return
            del self._left[0]
            sent = self._send(rank, block)
            self._under_way.append((sent, len(block)))
            taken += 0 if sent.done else len(block)

    def _room(self, rank: int) -> float:
        seconds = self._round_trip(rank)
        if seconds < FAR:
            return float("inf")
        return max(UNDER_WAY, seconds * FASTEST) / self._members
