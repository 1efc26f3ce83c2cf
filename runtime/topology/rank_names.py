"""The directory of names: how messages name a rank, by its number in the COMM_WORLD it knows.

`rank 5 (south/cedar 0)` is rank 5 of its program, and the first one of the cluster `cedar` at the
site `south`. Every message of the launcher, of a rank and of the commands that look at runs is
written with the functions of this file; programs and files get `0:1:2`, the text of `RankName`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.rank_name import RankName

if TYPE_CHECKING:
    from runtime.topology.tree import Grid

Part = RankName | str
"""Who is named in a message: a rank, or by its name another part of the machine or a step."""


@dataclass(frozen=True, slots=True)
class NamedCluster:
    """What the name of a rank needs of its cluster.

    `path` is the name that the user knows, `south/cedar`. `first` is the number in COMM_WORLD of
    its first process, or would be without replicas: there are `world` ranks, 0 for no replicas.
    `code` is the program where several are coupled, each with a COMM_WORLD of its own. The cluster
    itself `is_world` where each has its own.
    """

    path: str
    first: int
    world: int = 0
    code: str = ""
    is_world: bool = False


class RankNames:
    """Names ranks and clusters in messages, whether a rank comes as a `RankName` or as its text.

    Its incarnation does not matter. A cluster is named by its path. What is neither, such as a
    step, is returned as it is. So are all ranks where no machine is known.

    >>> cedar = NamedCluster("s/cedar", 2)
    >>> names = RankNames({"0:0": NamedCluster("north/alder", 0), "1:0": cedar})
    >>> names.name(RankName(1, 0, 0)), names.name("1:0:1#2"), names.name("1:0")
    ('rank 2 (s/cedar 0)', 'rank 3 (s/cedar 1)', 's/cedar')
    >>> names.names(["0:0:0", "0:0:1", "1:0:0", "1:0:2"])
    'ranks 0-1 (north/alder 0-1), rank 2 (s/cedar 0), rank 4 (s/cedar 2)'
    """

    __slots__ = ("_clusters",)

    def __init__(self, clusters: Mapping[str, NamedCluster] | None = None) -> None:
        """Know the clusters of a machine by their identifiers; without any, all names stay text."""
        self._clusters = dict(clusters or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RankNames) and self._clusters == other._clusters

    def __hash__(self) -> int:
        """Return the same for those that name all ranks alike."""
        return hash(frozenset(self._clusters.items()))

    @property
    def clusters(self) -> Mapping[str, NamedCluster]:
        """The clusters by their identifiers."""
        return self._clusters

    @classmethod
    def of_grid(cls, grid: Grid, *, world: int = 0, is_of_cluster: bool = False) -> RankNames:
        """Return the names of one program, whose ranks are all ranks of a grid.

        `world` is the size of COMM_WORLD where ranks have replicas; else each process is a rank of
        it, or, where that `is_of_cluster`, each cluster has its own COMM_WORLD.
        """
        clusters, first = {}, 0
        for site, number, one in grid.clusters():
            path = f"{grid.sites[site].name}/{one.name}"
            start = 0 if is_of_cluster else first
            clusters[f"{site}:{number}"] = NamedCluster(path, start, world, is_world=is_of_cluster)
            first += one.size
        return cls(clusters)

    def number(self, name: Part) -> int | None:
        """Return the number of a rank in its COMM_WORLD; None for what is no rank."""
        found = self._found(name)
        return None if found is None else _number(*found)

    def replica(self, name: Part) -> int:
        """Return which replica of its rank a process is, 0 for the first or only one."""
        found = self._found(name)
        if found is None or not found[1].world:
            return 0
        rank, cluster = found
        return (cluster.first + rank.rank) // cluster.world

    def is_copy(self, name: Part, of: Part) -> bool:
        """Return whether two processes are replicas of one rank."""
        one, other = self._found(name), self._found(of)
        if one is None or other is None or not (one[1].world and other[1].world):
            return False
        same_code = one[1].code == other[1].code
        return same_code and one[0] != other[0] and _number(*one) == _number(*other)

    def where(self, name: Part) -> str:
        """Return the cluster of a rank and its number there; "" where there is one cluster only."""
        found = self._found(name)
        return "" if found is None else self._where(found[1], str(found[0].rank))

    def name(self, name: Part) -> str:
        """Return how a message names a process: `rank 5, replica 1 (south/cedar 0)`."""
        found = self._found(name)
        if found is None:
            cluster = self._clusters.get(str(name))
            return str(name) if cluster is None else cluster.path
        replica = f", replica {self.replica(name)}" if found[1].world else ""
        where = self.where(name)
        return f"rank {_number(*found)}{_of(found[1])}{replica}{where and f' ({where})'}"

    def rank(self, name: Part) -> str:
        """Return how a message names a rank, whatever process has it: without the replica."""
        found = self._found(name)
        if found is None or not found[1].world:
            return self.name(name)
        return f"rank {_number(*found)}"

    def numbers(self, cluster: str, first: int, count: int) -> str:
        """Return so many ranks of a cluster by their numbers alone, where that is named already.

        >>> RankNames({"0:1": NamedCluster("s/b", 2, world=3)}).numbers("0:1", 0, 3)
        'rank 2, replica 0, ranks 0-1, replica 1'
        """
        known, texts = self._clusters[cluster], []
        at, end = known.first + first, known.first + first + count
        while at < end:
            replica = at // known.world if known.world else 0
            stop = min(end, (replica + 1) * known.world) if known.world else end
            begin, last = at - replica * known.world, stop - 1 - replica * known.world
            text = f"rank {begin}" if begin == last else f"ranks {begin}-{last}"
            texts.append(f"{text}{_of(known)}{f', replica {replica}' if known.world else ''}")
            at = stop
        return ", ".join(texts)

    def tag(self, name: Part) -> str:
        """Return what stands before a line of output: `2`, `ocean 2`, or `south/cedar`.

        Where each cluster has its own COMM_WORLD, it is named: `south/cedar 0`.
        """
        found = self._found(name)
        if found is None:
            return self.name(name)
        cluster = found[1]
        world = cluster.path if cluster.is_world and len(self._clusters) > 1 else cluster.code
        return f"{world} {_number(*found)}".lstrip()

    def names(self, names: Iterable[Part], most: int | None = None) -> str:
        """Return how a message names several ranks, consecutive ones of a cluster as one range.

        Replicas of a rank are one. Of more than `most` ranks it is said how many are left out.
        """
        ranks = list(names)
        left = 0 if most is None else len(ranks) - most
        more = f" and {left} more" if left > 0 else ""
        return ", ".join(dict.fromkeys(self._runs(ranks[:most]))) + more

    def _runs(self, names: Iterable[Part]) -> Iterator[str]:
        ranks: list[RankName] = []
        others: list[Part] = []
        for one in dict.fromkeys(names):
            rank = _rank_of(one)
            if rank is None:
                others.append(one)
            else:
                ranks.append(rank)
        run: list[RankName] = []
        for one in sorted(ranks):
            if run and not self._follows(run[-1], one):
                yield self._range(run)
                run = []
            run.append(one)
        if run:
            yield self._range(run)
        yield from map(self.name, others)

    def _follows(self, before: RankName, after: RankName) -> bool:
        number = self.number(before)
        wraps = number is not None and self.number(after) != number + 1
        return before.same_cluster(after) and before.rank + 1 == after.rank and not wraps

    def _range(self, run: list[RankName]) -> str:
        first, last = self._found(run[0]), self._found(run[-1])
        if len(run) == 1:
            return self.rank(run[0])
        if first is None or last is None:
            return f"{run[0]}-{run[-1].rank}"
        numbers = f"{_number(*first)}-{_number(*last)}{_of(first[1])}"
        if first[1].world:
            return f"ranks {numbers}"
        where = self._where(first[1], f"{first[0].rank}-{last[0].rank}")
        return f"ranks {numbers}{where and f' ({where})'}"

    def _where(self, cluster: NamedCluster, ranks: str) -> str:
        return f"{cluster.path} {ranks}" if len(self._clusters) > 1 else ""

    def _found(self, name: Part) -> tuple[RankName, NamedCluster] | None:
        rank = _rank_of(name)
        cluster = None if rank is None else self._clusters.get(rank.cluster)
        return None if rank is None or cluster is None else (rank, cluster)


NO_NAMES = RankNames()
"""Ranks as they are called where no machine is known: `0:1:2`."""


def member_in_words(rank: int, name: str) -> str:
    """Return how a message names a member of a communicator; `name` is that of its process.

    >>> member_in_words(3, "rank 3 (south/cedar 1) on n7")
    'rank 3 (south/cedar 1) on n7'
    >>> member_in_words(0, "rank 3 (south/cedar 1) on n7")
    'rank 0 of the communicator, in COMM_WORLD rank 3 (south/cedar 1) on n7'
    """
    number = f"rank {rank}"
    if not name.startswith("rank "):  # of no machine
        return f"{number} ({name})"
    if name == number or name.startswith((f"{number} ", f"{number},")):
        return name
    return f"{number} of the communicator, in COMM_WORLD {name}"


def _rank_of(part: Part) -> RankName | None:
    return RankName.find(part) if isinstance(part, str) else part


def _number(rank: RankName, cluster: NamedCluster) -> int:
    number = cluster.first + rank.rank
    return number % cluster.world if cluster.world else number


def _of(cluster: NamedCluster) -> str:
    return f" of {cluster.code}" if cluster.code else ""
