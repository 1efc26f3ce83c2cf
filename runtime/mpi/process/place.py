"""The place of this process in the machine: its site, cluster and rank, and everybody else's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.process.native import greatest_tag
from runtime.rank_name import RankName
from runtime.topology import Cluster, Grid, Node, RankNames, Site

if TYPE_CHECKING:
    from runtime.membership.everybody import Everybody
    from runtime.membership.rank_link import RankLink


class Place:
    """The machine as the processes of one MPI program see it, and the place of this one.

    Every process has an index, its rank in COMM_GRID. Those from `first` to before `last` share the
    native MPI of this process, where their ranks begin with 0. Where the program survives failures
    (`is_isolated`) each process has a native MPI of its own, since a shared one would not survive
    them.

    Where ranks have several replicas, all replicas of a rank have the place of the first one.
    """

    def __init__(
        self,
        grid: Grid,
        me: RankName,
        hosts: Sequence[str],
        *,
        is_isolated: bool = False,
        has_replicas: bool = False,
        tag_limit: int | None = None,
        replacing: Sequence[tuple[RankName, int]] = (),
        names: RankNames | None = None,
    ) -> None:
        """Be process `me` of a grid; `hosts` are those of all processes by index.

        `replacing` are the identifiers and incarnations of replacements of lost processes, whose
        indexes follow those of all others. `tag_limit` is the greatest tag that all their MPIs
        support; None means that of this one. `names` are those of all processes in messages.
        """
        self.grid = grid
        self.me = me
        self.hosts = list(hosts)
        self._replacing = list(replacing)
        self.is_isolated = is_isolated
        self.has_replicas = has_replicas
        self._tag_limit = tag_limit
        self.names = RankNames.of_grid(grid) if names is None else names

    @cached_property
    def tag_limit(self) -> int:
        """The greatest tag of messages in the grid."""
        return greatest_tag() if self._tag_limit is None else self._tag_limit

    @cached_property
    def everybody(self) -> tuple[RankName, ...]:
        """All processes by index."""
        return (*self.grid.identifiers(), *(one for one, _ in self._replacing))

    def replace(self, process: RankName, incarnation: int, host: str) -> int:
        """Register the replacement of a lost process; return its index."""
        me = self.index
        self._replacing.append((process, incarnation))
        self.hosts.append(host)
        index = len(self.everybody)
        self.__dict__["everybody"] = (*self.everybody, process)
        self._indexes[process] = index
        self.__dict__["index"] = me
        return index

    def incarnation_of(self, index: int) -> int:
        """Return the incarnation of a process; those from the start have the first."""
        at = index - self.grid.size
        return 1 if at < 0 else self._replacing[at][1]

    def newest(self, index: int) -> int:
        """Return the index of the process that holds another one's place now."""
        return self._indexes[self.everybody[index]]

    def present(self, index: int) -> RankName | None:
        """Return the rank of a process; None if it was replaced."""
        return self.everybody[index] if self.newest(index) == index else None

    def index_in(self, process: RankName, incarnation: int) -> int | None:
        """Return the index of the incarnation of a process, None if unknown."""
        indexes = [at for at, one in enumerate(self.everybody) if one == process]
        found = [at for at in indexes if self.incarnation_of(at) == incarnation]
        return found[0] if found else None

    @cached_property
    def first(self) -> int:
        """The index of the first process that native MPI reaches."""
        if self.is_isolated:
            return self.index
        return self.index_of(RankName(self.me.site, self.me.number, 0))

    @cached_property
    def last(self) -> int:
        """One more than the index of the last process that native MPI reaches."""
        if self.is_isolated:
            return self.index + 1
        return self.first + self.grid.cluster_of(self.me).size

    @cached_property
    def index(self) -> int:
        """The index of this process."""
        return self.index_of(self.me)

    @cached_property
    def _indexes(self) -> dict[RankName, int]:
        return {one: index for index, one in enumerate(self.everybody)}

    def index_of(self, process: RankName) -> int:
        """Return the index of the process that holds a place in the grid now."""
        return self._indexes[process]

    def neighbourhood_of(self, index: int) -> tuple[int, int]:
        """Return the site of a process, and an identifier of those that share its native MPI."""
        one = self.everybody[index]
        return one.site, index if self.is_isolated else one.number

    def name_of(self, index: int) -> str:
        """Return the name of a process for messages: `rank 5 (south/cedar 3) on node7`."""
        name, host = self.names.rank(self.process_of(index)), self.hosts[index]
        return f"{name} on {host}" if host else name

    def process_of(self, index: int) -> str:
        """Return the name of a process for programs: `0:1:3`."""
        return str(self.everybody[index])

    @property
    def is_one_cluster(self) -> bool:
        """Whether native MPI reaches all processes."""
        return self.last - self.first == self.grid.size


_here: Place | None = None


def here() -> Place:
    """Return the place of this process."""
    assert _here is not None, "the communicators are made first"
    return _here


def settle(place: Place) -> None:
    """Set the place that `here` returns."""
    global _here  # noqa: PLW0603 - a process is in one machine
    _here = place


def place_of_rank(link: RankLink, known: Everybody) -> Place:
    """Return the place of a rank that a front-end started; it is told who is known."""
    settings = link.wrapper.settings
    replicas = settings.replicas
    grid, me = known.grid, known.me
    hosts = [one.host for one in known.residents]
    behind = known.residents[grid.size :]
    if replicas > 1:
        from runtime.replicas.table import ReplicaTable  # only where ranks have replicas

        table = ReplicaTable(grid.size // replicas, replicas)
        me = known.residents[table.replica_at(known.place).rank].identifier
        grid, hosts, behind = grid.first(table.ranks), hosts[: table.ranks], ()
    return Place(
        grid,
        me,
        hosts,
        is_isolated=settings.goes_on,
        has_replicas=replicas > 1,
        tag_limit=known.tag_limit,
        replacing=[(one.identifier, one.incarnation) for one in behind],
        names=known.names,
    )


def place_of_plain_mpi() -> Place:
    """Return a grid of one cluster: all processes that `mpiexec` started, or only this one.

    All processes of COMM_WORLD have to call it.
    """
    names = MPI.COMM_WORLD.allgather(MPI.Get_processor_name())
    grid = Grid((Site("site0", (Cluster("cluster0", nodes_of(names)),)),))
    return Place(grid, RankName(0, 0, MPI.COMM_WORLD.Get_rank()), names)


def nodes_of(hosts: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of a cluster whose ranks are on these hosts.

    >>> [node.ranks for node in nodes_of(["a", "a", "b"])]
    [2, 1]
    """
    return tuple(Node(host, host, len(list(ranks))) for host, ranks in groupby(hosts))
