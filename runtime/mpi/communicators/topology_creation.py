"""How communicators get a topology: Cartesian, a graph, or a distributed graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.communicators.children import all_of, child, near_or_null
from runtime.mpi.communicators.reordering import Home, rearranged
from runtime.mpi.communicators.shapes import (
    Adjacency,
    Cartesian,
    Graph,
    Topology,
    adjacency_of,
    checked_cartesian,
    checked_graph,
)
from runtime.mpi.process.place import here
from runtime.mpi.progress.latest_calls import note
from runtime.mpi.values.faults import Wrong, WrongArgument, as_mpi, check_kind
from runtime.mpi.values.numbers import entries

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


class TopologyCreation(MPI.Intracomm):
    """The part of a communicator that derives others with a topology."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Create_cart(
        self,
        dims: Sequence[int],
        periods: Sequence[bool] | bool | None = None,
        reorder: bool = False,
    ) -> MPI.Cartcomm:
        """Return a communicator whose ranks form a grid.

        With `reorder` ranks may change, to have few neighbours at different sites, and then few in
        different clusters.
        """
        note("Create_cart", self)
        members = self._members
        if members is None:
            if any(extent < 0 for extent in dims):
                self._cartesian(self.Get_size(), dims, periods)
            native = MPI.Intracomm.Create_cart(self, dims, periods, reorder)  # type: ignore[arg-type]  # a single bool is allowed
            return near_or_null(native, self)
        shape = self._cartesian(len(members.group), dims, periods)
        new_ranks = _placed(members, shape) if reorder else list(range(shape.size))
        group = [0] * shape.size
        for old, new in enumerate(new_ranks):
            group[new] = members.group[old]
        made: MPI.Cartcomm = _child(members, "Create_cart", tuple(group), shape)
        return made

    def Cart_map(self, dims: Sequence[int], periods: Sequence[bool] | bool | None = None) -> int:
        """Return the rank that this process gets from `Create_cart` when ranks may change."""
        members = self._members
        if members is None:
            return MPI.Intracomm.Cart_map(self, dims, periods)  # type: ignore[arg-type]  # a single bool is allowed
        shape = self._cartesian(len(members.group), dims, periods)
        return _placed(members, shape)[members.rank] if members.rank < shape.size else MPI.UNDEFINED

    def Create_graph(
        self, index: Sequence[int], edges: Sequence[int], reorder: bool = False
    ) -> MPI.Graphcomm:
        """Return a communicator whose ranks form a graph; they are not reordered."""
        note("Create_graph", self)
        members = self._members
        if members is None:
            return near_or_null(MPI.Intracomm.Create_graph(self, index, edges, reorder), self)
        graph = self._graph(members, index, edges)
        made: MPI.Graphcomm = _child(members, "Create_graph", members.group[: graph.size], graph)
        return made

    def Graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """Return the rank that this process gets from `Create_graph`."""
        members = self._members
        if members is None:
            return MPI.Intracomm.Graph_map(self, index, edges)
        graph = self._graph(members, index, edges)
        return members.rank if members.rank < graph.size else MPI.UNDEFINED

    def Create_dist_graph_adjacent(  # noqa: PLR0917  # as mpi4py has it
        self,
        sources: Sequence[int] | None,
        destinations: Sequence[int] | None,
        sourceweights: Sequence[int] | None = None,
        destweights: Sequence[int] | None = None,
        info: MPI.Info = MPI.INFO_NULL,
        reorder: bool = False,
    ) -> MPI.Distgraphcomm:
        """Return a communicator with a graph of which each process gives its own neighbours."""
        note("Create_dist_graph_adjacent", self)
        members = self._members
        if members is None:
            create: Any = MPI.Intracomm.Create_dist_graph_adjacent
            edges = (sources, destinations, sourceweights, destweights)
            native: MPI.Distgraphcomm = create(self, *edges, info, reorder)
            return near_or_null(native, self)
        check_kind(info, MPI.Info, "info")
        coming = entries(() if sources is None else sources)
        going = entries(() if destinations is None else destinations)
        to, away = _weights(sourceweights, len(coming)), _weights(destweights, len(going))
        with as_mpi(self):
            _check_nodes(coming + going, len(members.group))
            weights = _both_weights(to, len(coming), away, len(going))
        shape = Adjacency(tuple(coming), tuple(going), weights)
        made: MPI.Distgraphcomm = _child(
            members, "Create_dist_graph_adjacent", members.group, shape
        )
        return made

    def Create_dist_graph(  # noqa: PLR0917  # as mpi4py has it
        self,
        sources: Sequence[int],
        degrees: Sequence[int],
        destinations: Sequence[int],
        weights: Sequence[int] | None = None,
        info: MPI.Info = MPI.INFO_NULL,
        reorder: bool = False,
    ) -> MPI.Distgraphcomm:
        """Return a communicator with a graph of which each process gives any edges."""
        note("Create_dist_graph", self)
        members = self._members
        if members is None:
            return near_or_null(
                MPI.Intracomm.Create_dist_graph(
                    self, sources, degrees, destinations, weights, info, reorder
                ),
                self,
            )
        check_kind(info, MPI.Info, "info")
        starts = entries(sources)
        counts = entries(degrees, len(starts))
        ends = entries(destinations, sum(counts))
        given = _weights(weights, len(ends))
        with as_mpi(self):
            _check_nodes(starts + ends, len(members.group))
        froms = [start for start, count in zip(starts, counts, strict=True) for _ in range(count)]
        edges = list(zip(froms, ends, given or [1] * len(ends), strict=True))
        said = all_of(self, (edges, given is not None))
        everything = [edge for some, _ in said for edge in some]
        shape = adjacency_of(members.rank, everything, any(weighted for _, weighted in said))
        made: MPI.Distgraphcomm = _child(members, "Create_dist_graph", members.group, shape)
        return made

    def _cartesian(
        self, room: int, dims: Sequence[int], periods: Sequence[bool] | bool | None
    ) -> Cartesian:
        extents = entries(dims)
        if periods is None or isinstance(periods, bool):
            periods = [bool(periods)] * len(extents)
        ends = entries(periods, len(extents))
        with as_mpi(self):
            return checked_cartesian(extents, [bool(end) for end in ends], room)

    def _graph(
        self, members: CommunicatorMembers, index: Sequence[int], edges: Sequence[int]
    ) -> Graph:
        ends, targets = entries(index), entries(edges)
        if ends and ends[0] == 0 and ends[-1] == len(targets):
            del ends[0]  # mpi4py takes adjacency arrays that begin with 0, too
        with as_mpi(self):
            return checked_graph(ends, targets, len(members.group))


def _placed(members: CommunicatorMembers, shape: Cartesian) -> list[int]:
    everybody = here().everybody
    homes: list[Home] = [
        (everybody[one].site, everybody[one].number) for one in members.group[: shape.size]
    ]
    return rearranged(shape, homes)


def _child(
    members: CommunicatorMembers,
    how: str,
    group: tuple[int, ...],
    shape: Cartesian | Graph | Adjacency,
) -> Any:
    context = members.next_context(how, group)
    return child(members, group, context, topology=Topology(shape))


def _weights(given: Sequence[int] | int | None, degree: int) -> list[int] | None:
    """Return weights, or None for unweighted edges."""
    if given is None or (isinstance(given, int) and given == MPI.UNWEIGHTED):
        return None
    if isinstance(given, int) and given == MPI.WEIGHTS_EMPTY:
        if degree:
            raise ValueError("empty weights but nonzero degree")
        return []
    return entries(given, degree)


def _both_weights(
    coming: list[int] | None, indegree: int, going: list[int] | None, outdegree: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if coming is None and going is None:
        return None
    if (coming is None and indegree) or (going is None and outdegree):
        text = "edges on one side have weights, and those on the other have none"
        raise WrongArgument(Wrong.TOPOLOGY, text)
    return tuple(coming or ()), tuple(going or ())


def _check_nodes(nodes: Sequence[int], size: int) -> None:
    for node in nodes:
        if not 0 <= node < size:
            text = f"an edge leads to or from {node}; the ranks are 0 to {size - 1}"
            raise WrongArgument(Wrong.ARGUMENT, text)
