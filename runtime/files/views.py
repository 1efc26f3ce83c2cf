"""Which bytes of a file a process sees, in which order.

A view begins at a displacement, and repeats the runs of a file type from there. Offsets count
elementary types; what is between the runs is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from gcm.records import dataclass
from runtime.files.faults import FileFault
from runtime.windows.runs import Run, block, bounds_of, joined, repeated, size_of, split


def bytes_before(runs: Sequence[Run], end: int) -> int:
    """Return how many bytes of ascending runs are before a place.

    >>> bytes_before([Run(0, 4, 8, 3)], 10), bytes_before([block(20, 4)], 10)
    (6, 0)
    """
    found = 0
    for start, length, stride, times in runs:
        if start >= end or not length:
            continue
        whole = min(times, (end - 1 - start) // stride + 1) if times > 1 else 1
        last = start + stride * (whole - 1)
        found += length * (whole - 1) + min(length, end - last)
    return found


@dataclass(frozen=True, slots=True)
class View:
    """A displacement in bytes, the size of an elementary type, and the file type.

    `runs` are those of one file type, `extent` is from one to the next.

    >>> odd = View.of(100, 2, [block(2, 2)], 4)
    >>> odd.runs_of(1, 4), odd.byte_of(3)
    ([Run(start=106, length=2, stride=4, times=2)], 114)
    """

    displacement: int
    unit: int
    runs: tuple[Run, ...]
    extent: int
    size: int
    """How many bytes of one file type are seen; none if a rank has no part in what others do."""

    @classmethod
    def of(cls, displacement: int, unit: int, runs: Sequence[Run], extent: int) -> View:
        """Return a view, which is still to be checked."""
        return cls(displacement, unit, tuple(runs), extent, size_of(runs))

    def check(self) -> None:
        """Raise FileFault for a view that MPI does not allow."""
        if self.displacement < 0:
            raise FileFault("ERR_ARG", f"the displacement {self.displacement} is negative")
        if self.unit <= 0:
            raise FileFault("ERR_ARG", "the elementary type has no bytes")
        if self.size % self.unit:
            raise FileFault(
                "ERR_ARG",
                f"a file type of {self.size} bytes has no whole number of elementary types of"
                f" {self.unit} bytes",
            )
        low, high = bounds_of(self.runs)
        if low < 0 or not _ascends(self.runs):
            text = "the displacements in the file type are negative, or do not ascend"
            raise FileFault("ERR_ARG", text)
        if self.extent < high - low:
            text = f"file types of {high - low} bytes, {self.extent} bytes apart, overlap"
            raise FileFault("ERR_ARG", text)

    def runs_of(self, offset: int, size: int) -> list[Run]:
        """Return where some bytes from an offset on are in the file.

        Raises FileFault if nothing is seen there.
        """
        if not self.size:
            if size:
                raise FileFault("ERR_ARG", f"{size} bytes have no place in a view without bytes")
            return []
        at = offset * self.unit
        base = self.displacement
        if len(self.runs) == 1 and self.size == self.extent:
            return [block(base + self.runs[0].start + at, size)] if size else []
        tile, skipped = divmod(at, self.size)
        found: list[Run] = []
        left = size
        if skipped and left:
            head = split(split(self.runs, skipped)[1], min(left, self.size - skipped))[0]
            found += [one.moved(base + tile * self.extent) for one in head]
            left -= size_of(head)
            tile += 1
        whole, rest = divmod(left, self.size)
        start = base + tile * self.extent
        if whole:
            found += repeated([one.moved(start) for one in self.runs], whole, self.extent)
        if rest:
            tail = split(self.runs, rest)[0]
            found += [one.moved(start + whole * self.extent) for one in tail]
        return joined(found)

    def byte_of(self, offset: int) -> int:
        """Return the place of an offset in the file."""
        if not self.size:
            return self.displacement
        tile, within = divmod(offset * self.unit, self.size)
        rest = split(self.runs, within)[1] if within else self.runs
        return self.displacement + tile * self.extent + rest[0].start

    def units_before(self, end: int) -> int:
        """Return the offset of the end of a file, which may be within an elementary type.

        >>> View.of(100, 2, [block(2, 2)], 4).units_before(107)
        2
        """
        if not self.size:
            return 0
        tiles, within = divmod(max(0, end - self.displacement), self.extent)
        seen = tiles * self.size + bytes_before(self.runs, within)
        return -(-seen // self.unit)


def _ascends(runs: Sequence[Run]) -> bool:
    end = 0
    for one in runs:
        if one.start < end or (one.times > 1 and one.stride < one.length):
            return False
        end = one.bounds[1]
    return True


BYTES = View.of(0, 1, [block(0, 1)], 1)
"""The view that a file has when it was opened."""
