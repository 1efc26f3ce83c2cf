"""The unique name of a process in the machine: `site:cluster:rank`, each counted from zero."""

from __future__ import annotations

import re
from functools import total_ordering

from gcm.records import dataclass
from runtime.errors import GridError

_WRITTEN = re.compile(r"(\d+):(\d+):(\d+)", re.ASCII)


@total_ordering
@dataclass(frozen=True, slots=True)
class Identifier:
    """One process: the site, the cluster within the site, the rank within the cluster.

    Identifiers sort in the order in which ranks are given out, so the members of every
    communicator are sorted by identifier.

    >>> Identifier.parse("0:1:2")
    Identifier(site=0, cluster=1, rank=2)
    >>> str(Identifier(0, 1, 2))
    '0:1:2'
    """

    site: int
    cluster: int
    rank: int

    def __post_init__(self) -> None:
        """Refuse negative numbers."""
        if min(self.site, self.cluster, self.rank) < 0:
            raise GridError(
                f"identifier {self.site}:{self.cluster}:{self.rank} has a number below zero",
                cure="Sites, clusters and ranks count from 0.",
            )

    @classmethod
    def parse(cls, written: str) -> Identifier:
        """Read `site:cluster:rank`; raises `GridError` for anything else."""
        found = _WRITTEN.fullmatch(written)
        if found is None:
            raise GridError(
                f"'{written}' is not an identifier",
                cure="Write site:cluster:rank with three numbers from 0, such as 0:1:2.",
            )
        site, cluster, rank = (int(part) for part in found.groups())
        return cls(site, cluster, rank)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Identifier):
            return NotImplemented
        mine = self.site, self.cluster, self.rank
        return mine < (other.site, other.cluster, other.rank)

    def __str__(self) -> str:
        """Return `site:cluster:rank`."""
        return f"{self.site}:{self.cluster}:{self.rank}"

    def same_site(self, other: Identifier) -> bool:
        """Return whether both processes are in one site."""
        return self.site == other.site

    def same_cluster(self, other: Identifier) -> bool:
        """Return whether both processes are in one cluster, and so can use its native MPI."""
        return self.site == other.site and self.cluster == other.cluster
