"""Which parts of a partitioned message belong together: each end cuts it for itself. Pure."""

from __future__ import annotations

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Partitioning:
    """A message in equal parts, which a side marks or asks for one by one: `size` bytes each."""

    parts: int
    size: int

    @property
    def nbytes(self) -> int:
        """The bytes of all parts."""
        return self.parts * self.size

    def place(self, part: int) -> slice:
        """Return where a part lies.

        >>> Partitioning(3, 4).place(1)
        slice(4, 8, None)
        """
        return slice(part * self.size, (part + 1) * self.size)

    def needed_for(self, other: Partitioning, part: int) -> range:
        """Return the parts of this cut, the sender's, that a part of the receiver's consists of.

        What the sender has nothing for is there once everything is.

        >>> Partitioning(4, 3).needed_for(Partitioning(3, 4), 1)
        range(1, 3)
        >>> Partitioning(2, 3).needed_for(Partitioning(3, 4), 2)
        range(0, 2)
        """
        if self == other:
            return range(part, part + 1)
        place = other.place(part)
        if not self.size or not other.size or place.start >= self.nbytes:
            return range(self.parts)
        return range(place.start // self.size, min(-(-place.stop // self.size), self.parts))
