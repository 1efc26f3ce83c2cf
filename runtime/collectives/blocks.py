"""Blocks of memory, one for each member, and how large data is cut into segments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gcm.records import dataclass

SEGMENT = 256 * 1024
"""Large messages are cut into segments of about this many bytes, so that links work in parallel."""

TOGETHER = 4
"""This many segments are given to the members of a cluster at once: each time all must wake up."""

SMALL = 16 * 1024
"""Smaller blocks are bundled by cluster; larger ones go to their receiver directly."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """One block of `memory` for each of some members: where it begins and its size in bytes."""

    memory: memoryview
    offsets: Sequence[int]
    sizes: Sequence[int]

    @classmethod
    def in_a_row(cls, sizes: Sequence[int], memory: memoryview | None = None) -> Blocks:
        """Lay blocks out contiguously, in fresh memory unless some is given."""
        offsets = [0]
        for size in sizes:
            offsets.append(offsets[-1] + size)
        total = offsets.pop()
        return cls(memoryview(bytearray(total)) if memory is None else memory, offsets, sizes)

    def __getitem__(self, which: int) -> memoryview:
        """Return one block."""
        start = self.offsets[which]
        return self.memory[start : start + self.sizes[which]]

    def of(self, which: Iterable[int]) -> Blocks:
        """Return the blocks of some members."""
        chosen = list(which)
        return Blocks(
            self.memory, [self.offsets[i] for i in chosen], [self.sizes[i] for i in chosen]
        )

    def joined(self) -> memoryview | None:
        """Return all blocks as one piece of memory, or None when they are not contiguous."""
        start = next((o for o, size in zip(self.offsets, self.sizes, strict=True) if size), 0)
        end = start
        for offset, size in zip(self.offsets, self.sizes, strict=True):
            if size and offset != end:
                return None
            end += size
        return self.memory[start:end]

    def packed(self) -> memoryview:
        """Return all blocks contiguously, copied only if they are not."""
        joined = self.joined()
        if joined is None:
            return memoryview(b"".join(self[i] for i in range(len(self.sizes))))
        return joined

    def fill(self, data: memoryview) -> None:
        """Distribute data that holds the blocks contiguously."""
        start = 0
        for which, size in enumerate(self.sizes):
            self[which][:] = data[start : start + size]
            start += size

    @property
    def total(self) -> int:
        """Return the size of all blocks in bytes."""
        return sum(self.sizes)


def cut(size: int, grain: int = 1, segment: int = SEGMENT, start: int = 0) -> list[slice]:
    """Cut the bytes `start` to `size` into segments of whole grains; none if there are no bytes.

    >>> cut(10, grain=4, segment=4)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    step = max(segment // grain, 1) * grain
    return [slice(start, min(start + step, size)) for start in range(start, size, step)]


class Batches:
    """Batches of segments for the members of a cluster, which may arrive in any order.

    >>> batches = Batches(cut(10, segment=2))
    >>> [batches.complete(number) for number in (1, 0, 2, 4, 3)]
    [None, None, None, slice(8, 10, None), slice(0, 8, None)]
    """

    def __init__(self, segments: Sequence[slice]) -> None:
        self._segments = segments
        self._left = [
            min(TOGETHER, len(segments) - start) for start in range(0, len(segments), TOGETHER)
        ]

    def complete(self, number: int) -> slice | None:
        """Record that a segment has arrived, and return the range this completes, if any."""
        batch = number // TOGETHER
        self._left[batch] -= 1
        if self._left[batch]:
            return None
        found = self._segments[batch * TOGETHER : (batch + 1) * TOGETHER]
        return slice(found[0].start, found[-1].stop)
