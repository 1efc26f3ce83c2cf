"""Blocks for the members of another site, which take turns on the line to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from runtime.collectives.layout import Part
    from runtime.collectives.port import Pending

PIECE = 384 << 10
"""Bytes of a block that go at a time: more than the wire copies, which is done with it at once."""

UNDER_WAY = 3 << 20
"""Bytes that a site has on their way to another one, but each of its members one piece at least.

As many more may be as arrive in time: then the line holds more.
"""

IN_TIME = 1.25
"""How many round trips a piece takes at most that did not wait for others on the line."""

FAR = 1e-3
"""Seconds of a round trip from which on a line is worth to be waited for."""

_Sent = TypeVar("_Sent", bound="Pending")


def pieces(block: memoryview, here: Part, there: Part, size: int = PIECE) -> list[memoryview]:
    """Cut what goes from a cluster to another one into what goes at a time, if it leaves the site.

    The last piece is shorter than the others, if need be empty: whoever expects more or less than
    what is sent meets a piece of another size.
    """
    if here.site == there.site:
        return [block]
    return [block[start : start + size] for start in range(0, len(block) + 1, size)]


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
        now: Callable[[], float],
    ) -> None:
        """Send to each rank its block; `round_trip` tells the seconds to a rank and back, or 0."""
        self._left = deque(blocks)
        self._send = send
        self._round_trip = round_trip
        self._now = now
        self._room = UNDER_WAY / members
        # What was sent, its size, and until when it is done in time
        self._under_way: list[tuple[_Sent, int, float]] = []

    @property
    def under_way(self) -> list[_Sent]:
        """All that was sent and may not be done."""
        return [sent for sent, *_ in self._under_way]

    @property
    def has_begun_all(self) -> bool:
        """Whether no block waits for its turn."""
        return not self._left

    @property
    def is_over(self) -> bool:
        """Whether all blocks were sent, and are done."""
        return not self._left and all(one.done for one in self.under_way)

    def go_on(self) -> None:
        """Forget what is done, and send what there is room for now."""
        now = self._now()
        for sent, size, until in self._under_way:
            if sent.done and now <= until:
                self._room += size
        self._under_way = [one for one in self._under_way if not one[0].done]
        taken = sum(size for _, size, _ in self._under_way)
        while self._left:
            rank, block = self._left[0]
            trip = self._round_trip(rank)
            if taken and trip >= FAR and taken + len(block) > self._room:
                return
            del self._left[0]
            sent = self._send(rank, block)
            was_copied = sent.done
            self._under_way.append((sent, len(block), 0.0 if was_copied else now + IN_TIME * trip))
            taken += 0 if was_copied else len(block)
