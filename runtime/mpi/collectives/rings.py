"""Who wakes whom in native calls within a cluster, so that native MPI is seldom polled.

Members that wait for data are woken by the member that native MPI gets it from. Native MPI may use
other algorithms than those expected here; then a member is woken in vain, or polls a little later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from runtime.mpi.progress.operations import NOTIFIED, POLLED, NativeStep

if TYPE_CHECKING:
    from mpi4py import MPI

    from runtime.mpi.progress.operations import Operation
    from runtime.wire.wake_ups import WakeUps

LARGE = 8 * 1024
"""The size in bytes from which native MPI does not use a binomial tree, but many steps that no
wake-up announces; on one host members then send large data directly.
"""

FEW = 8
"""Up to this many members exchange data by messages between every two of them."""

FEWEST = 3
"""Up to this many members reduce data by messages: each of the others sends to the root. More of
them would pass on partial results piece by piece, which native MPI does faster.
"""


class Neighbours:
    """The members of a communicator in one cluster, by their indexes in rank order.

    Where native MPI `copies_at_once` any of them can read a large message in one step.
    """

    def __init__(
        self,
        indexes: Sequence[int],
        position: int,
        wake_ups: WakeUps | None,
        *,
        copies_at_once: bool = False,
    ) -> None:
        self._indexes, self.position, self._wake_ups = indexes, position, wake_ups
        self.all_ring = wake_ups is not None and wake_ups.reach(indexes)
        """Whether each of them can be woken."""
        self._copies_at_once = copies_at_once

    def __len__(self) -> int:
        return len(self._indexes)

    def is_direct(self, size: int) -> bool:
        """Return whether data of that size is sent directly; all members agree."""
        return self._copies_at_once and size >= LARGE

    def folds_directly(self, size: int) -> bool:
        """Return whether values of that size are reduced by messages; all members agree."""
        return len(self._indexes) <= FEWEST and self.is_direct(size)

    @property
    def is_small(self) -> bool:
        """Whether members exchange messages whatever their sizes; all members agree."""
        return self._copies_at_once and len(self._indexes) <= FEW

    def others(self) -> list[int]:
        """Return the positions of all others."""
        return [one for one in range(len(self._indexes)) if one != self.position]

    def place(self, root: int) -> int:
        """Return this process's place in a binomial tree."""
        return (self.position - root) % len(self._indexes)

    def at(self, place: int, root: int) -> int:
        """Return the member at a place of a binomial tree."""
        return (place + root) % len(self._indexes)

    def wake(self, position: int) -> None:
        """Wake one of them."""
        if self._wake_ups is not None:
            self._wake_ups.wake(self._indexes[position])

    def spread(self, request: MPI.Request, what: str, root: int, size: int) -> Operation:
        """Return the step in which the root's data is sent to all."""
        place, count = self.place(root), len(self._indexes)
        passed_on = children(place, count)
        if place == 0:
            return self._sent(request, what, passed_on if size < LARGE else self._below(), root)
        return self._step(request, what, lambda: self._wake(passed_on, root), woken=size < LARGE)

    def fold(self, request: MPI.Request, what: str, root: int, size: int) -> Operation:
        """Return the step in which all values are reduced to the root."""
        place, woken = self.place(root), size < LARGE
        if place == 0:
            return self._step(request, what, woken=woken)
        up = (parent(place),)
        if not children(place, len(self._indexes)):
            return self._sent(request, what, up, root)
        return self._step(request, what, lambda: self._wake(up, root), woken=woken)

    def collect(self, request: MPI.Request, what: str, root: int, size: int) -> Operation:
        """Return the step in which all send something to the root, `size` bytes in total."""
        woken = self._copies_at_once or size < LARGE
        if self.position != root:
            return self._sent(request, what, (0,), root, woken=self._copies_at_once)
        wake = None if size < LARGE else lambda: self._wake(self._below(), root)
        return self._step(request, what, wake, woken=woken, messages=len(self._below()))

    def hand_out(self, request: MPI.Request, what: str, root: int, size: int) -> Operation:
        """Return the step in which the root sends something to each; `size` bytes arrive here."""
        woken = self._copies_at_once or size < LARGE
        if self.position == root:
            return self._sent(request, what, self._below(), root, woken=self._copies_at_once)
        if size < LARGE:
            return self._step(request, what, woken=woken)
        return self._step(request, what, lambda: self.wake(root), woken=woken)

    def _below(self) -> range:
        """Return the places of all but the root."""
        return range(1, len(self._indexes))

    def _sent(
        self,
        request: MPI.Request,
        what: str,
        places: Iterable[int],
        root: int,
        *,
        woken: bool = False,
    ) -> Operation:
        """Return the step of a mere sender: native MPI may need a poll to do it."""
        step = self._step(request, what, woken=woken)
        step.test()
        self._wake(places, root)
        return step

    def _step(
        self,
        request: MPI.Request,
        what: str,
        wake: Callable[[], None] | None = None,
        *,
        woken: bool = False,
        messages: int = 0,
    ) -> NativeStep:
        urgency = NOTIFIED if woken and self.all_ring else POLLED
        return NativeStep(request, what, urgency=urgency, wake=wake, messages=messages)

    def _wake(self, places: Iterable[int], root: int) -> None:
        for place in places:
            self.wake(self.at(place, root))


def children(place: int, count: int) -> list[int]:
    """Return the children of a place in a binomial tree, the farthest one first.

    >>> children(0, 6), children(4, 6), children(3, 6)
    ([4, 2, 1], [5], [])
    """
    found = []
    step = 1
    while place + step < count and not place & step:
        found.append(place + step)
        step *= 2
    return found[::-1]


def parent(place: int) -> int:
    """Return the parent of a place in a binomial tree; place 0 is the root.

    >>> parent(5), parent(6)
    (4, 4)
    """
    return place & (place - 1)
