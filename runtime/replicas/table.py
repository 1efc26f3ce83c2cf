"""Which process is which replica of which rank: as values, the same wherever they are computed."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.records import dataclass


class TooFewHosts(ValueError):
    """Some host, or the whole machine, cannot have its processes without two of one rank.

    `host` is the position of the first such host among those that were given, None where the
    number of processes is not a multiple of the number of replicas.
    """

    def __init__(self, what: str, host: int | None = None) -> None:
        super().__init__(what)
        self.host = host


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of a rank of COMM_WORLD; the lowest number that lives is the master."""

    rank: int
    number: int


@dataclass(frozen=True, slots=True)
class ReplicaTable:
    """All processes of a program, by their indexes in the machine, as replicas of its ranks.

    >>> table = ReplicaTable(ranks=3, replicas=2)
    >>> table.processes_of(1)
    (1, 4)
    >>> table.replica_at(4)
    Replica(rank=1, number=1)
    """

    ranks: int
    """The size of COMM_WORLD."""
    replicas: int
    """How many each rank has at first."""

    @property
    def size(self) -> int:
        """How many processes there are at first."""
        return self.ranks * self.replicas

    def replica_at(self, process: int) -> Replica:
        """Return which replica of which rank a process is."""
        number, rank = divmod(process, self.ranks)
        return Replica(rank, number)

    def rank_of(self, process: int) -> int:
        """Return which rank a process is a replica of."""
        return process % self.ranks

    def processes_of(self, rank: int) -> tuple[int, ...]:
        """Return the indexes of all replicas of a rank, by their numbers."""
        return tuple(range(rank, self.size, self.ranks))


def replica_table(sizes: Sequence[int], replicas: int) -> ReplicaTable:
    """Return the table of hosts with so many consecutive processes each.

    The first replicas of all ranks come first, then all second ones, and so on. So two replicas of
    a rank are as many processes apart as there are ranks, and are on one host only where that has
    more processes than there are ranks: then no other order would do either.

    >>> replica_table([2, 2], 2)
    ReplicaTable(ranks=2, replicas=2)

    Raises:
        TooFewHosts: no order keeps the replicas of all ranks on different hosts.
    """
    size = sum(sizes)
    ranks, left = divmod(size, replicas)
    if left or not ranks:
        raise TooFewHosts(f"{size} processes cannot be {replicas} replicas of each rank")
    for host, processes in enumerate(sizes):
        if processes > ranks:
            raise TooFewHosts(
                f"{processes} processes would have two replicas of one of the {ranks} ranks", host
            )
    return ReplicaTable(ranks, replicas)
