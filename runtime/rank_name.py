"""Who a rank is: the value of names such as `0:1:2#3`, which travel as text. Pure.

The text is parsed once where it enters a process; keys, tickets and files have the text, and
`runtime.part_names` says to what it belongs. How messages name a rank is in
`runtime.topology.rank_names`.
"""

from __future__ import annotations

from functools import total_ordering

from gcm.records import dataclass

INCARNATION = "#"
"""What is between the place of a rank and its incarnation."""

_NUMBERS = 3


@dataclass(frozen=True, slots=True)
class ClusterName:
    """One cluster: its site, and its number there. Tables and files have the text.

    >>> ClusterName.parse("0:1")
    ClusterName(site=0, number=1)
    """

    site: int
    number: int

    @classmethod
    def parse(cls, text: str) -> ClusterName:
        """Return the name that a text says.

        Raises:
            ValueError: the text is something else, such as the name of a rank.
        """
        numbers = text.split(":")
        if len(numbers) != _NUMBERS - 1 or not all(numbers) or not _are_numbers([*numbers, ""]):
            raise ValueError(f"'{text}' is not the name of a cluster, such as 0:1")
        return cls(*map(int, numbers))

    @property
    def position(self) -> tuple[int, int]:
        """Return where it is in the deployment: its site, and its number there."""
        return self.site, self.number

    def __str__(self) -> str:
        """Return the text that travels."""
        return f"{self.site}:{self.number}"


@total_ordering
@dataclass(frozen=True, slots=True)
class RankName:
    """One process that has a rank: its site, its cluster, its number there, its incarnation.

    The sites of the machine, the clusters of a site and the ranks of a cluster count from 0. An
    `incarnation` says which of the processes that have had the rank one after the other is meant,
    from 1; it is 0 where that does not matter, and the text has none then. Names sort by place,
    then by incarnation. A replica needs no number here: each has a place of its own.

    >>> RankName.parse("0:1:2#3")
    RankName(site=0, number=1, rank=2, incarnation=3)
    >>> RankName.parse("0:1:2#3").cluster, str(RankName(0, 1, 2))
    ('0:1', '0:1:2')
    """

    site: int
    number: int
    """That of its cluster within the site."""
    rank: int
    """Its number within the cluster."""
    incarnation: int = 0

    @classmethod
    def parse(cls, text: str) -> RankName:
        """Return the name that a text says.

        Raises:
            ValueError: the text is something else, such as the name of a cluster.
        """
        place, mark, last = text.partition(INCARNATION)
        numbers = place.split(":")
        if len(numbers) != _NUMBERS or (mark and not last) or not _are_numbers([*numbers, last]):
            raise ValueError(f"'{text}' is not the name of a rank, such as 0:1:2 or 0:1:2#3")
        site, number, rank = map(int, numbers)
        return cls(site, number, rank, int(last or 0))

    @classmethod
    def find(cls, text: str) -> RankName | None:
        """Return the name that a text says, or None where it is that of something else.

        >>> RankName.find("0:1:2"), RankName.find("south/cedar")
        (RankName(site=0, number=1, rank=2, incarnation=0), None)
        """
        try:
            return cls.parse(text)
        except ValueError:
            return None

    @property
    def cluster(self) -> str:
        """Return the name of its cluster.

        >>> RankName(0, 1, 2, 3).cluster
        '0:1'
        """
        return f"{self.site}:{self.number}"

    @property
    def place(self) -> RankName:
        """Return its name without the incarnation."""
        return RankName(self.site, self.number, self.rank)

    def same_site(self, other: RankName) -> bool:
        """Return whether both processes are in one site."""
        return self.site == other.site

    def same_cluster(self, other: RankName) -> bool:
        """Return whether both processes are in one cluster, and so can use its native MPI."""
        return self.site == other.site and self.number == other.number

    def __lt__(self, other: object) -> bool:
        """Return whether it comes before another one."""
        if not isinstance(other, RankName):
            return NotImplemented
        return self._key() < other._key()

    def _key(self) -> tuple[int, int, int, int]:
        return self.site, self.number, self.rank, self.incarnation

    def __str__(self) -> str:
        """Return the text that travels."""
        again = f"{INCARNATION}{self.incarnation}" if self.incarnation else ""
        return f"{self.site}:{self.number}:{self.rank}{again}"


def _are_numbers(words: list[str]) -> bool:
    return all(one.isascii() and one.isdecimal() for one in words if one) and all(words[:-1])
