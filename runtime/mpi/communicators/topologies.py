"""Communicators with a topology: what they tell about neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.communicators.children import child, near_or_null
from runtime.mpi.communicators.shapes import Adjacency, Cartesian, Graph, Topology, rank_of
from runtime.mpi.progress.latest_calls import note
from runtime.mpi.values.faults import as_mpi
from runtime.mpi.values.numbers import entries, integer

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


class CartParts(MPI.Cartcomm):
    """The part of a Cartesian communicator that tells coordinates and neighbours."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Get_dim(self) -> int:
        """Return the number of dimensions."""
        shape = _shape(self)
        return MPI.Cartcomm.Get_dim(self) if shape is None else len(shape.dims)

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Return the dimensions, which of them are periodic, and the coordinates of this rank."""
        shape = _shape(self)
        if shape is None:
            return MPI.Cartcomm.Get_topo(self)
        return list(shape.dims), list(map(int, shape.periods)), shape.coords(self.Get_rank())

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Return the rank at some coordinates; those of periodic dimensions may be any number."""
        shape = _shape(self)
        if shape is None:
            return MPI.Cartcomm.Get_cart_rank(self, coords)
        wanted = entries(coords, len(shape.dims))
        with as_mpi(self):
            return shape.rank(wanted)

    def Get_coords(self, rank: int) -> list[int]:
        """Return the coordinates of a rank."""
        shape = _shape(self)
        if shape is None:
            return MPI.Cartcomm.Get_coords(self, rank)
        with as_mpi(self):
            return shape.coords(integer(rank))

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Return the source and the destination of this rank when all data is shifted."""
        shape = _shape(self)
        if shape is None:
            return MPI.Cartcomm.Shift(self, direction, disp)
        with as_mpi(self):
            source, dest = shape.shifted(self.Get_rank(), integer(direction), integer(disp))
        return rank_of(source), rank_of(dest)

    def Sub(self, remain_dims: Sequence[bool]) -> MPI.Cartcomm:
        """Return the part of the shape with only some of the dimensions that holds this rank."""
        note("Sub", self)
        members = self._members
        if members is None or members.topology is None:
            return near_or_null(MPI.Cartcomm.Sub(self, remain_dims), self)
        shape: Cartesian = members.topology.shape
        remain = [bool(one) for one in entries(remain_dims, len(shape.dims))]
        part, ranks = shape.part(members.rank, remain)
        group = tuple(members.group[rank] for rank in ranks)
        context = members.next_context("Sub", group)
        made: MPI.Cartcomm = child(members, group, context, topology=Topology(part))
        return made


class GraphParts(MPI.Graphcomm):
    """The part of a graph communicator that tells the neighbours of ranks."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Get_dims(self) -> tuple[int, int]:
        """Return the number of nodes and that of edges."""
        graph = _graph(self)
        if graph is None:
            return MPI.Graphcomm.Get_dims(self)
        return len(graph.index), len(graph.edges)

    def Get_topo(self) -> tuple[list[int], list[int]]:
        """Return where the edges of each node end, and all edges."""
        graph = _graph(self)
        if graph is None:
            return MPI.Graphcomm.Get_topo(self)
        return list(graph.index), list(graph.edges)

    def Get_neighbors_count(self, rank: int) -> int:
        """Return the number of neighbours of a rank."""
        return len(self.Get_neighbors(rank))

    def Get_neighbors(self, rank: int) -> list[int]:
        """Return the neighbours of a rank."""
        graph = _graph(self)
        if graph is None:
            return MPI.Graphcomm.Get_neighbors(self, rank)
        with as_mpi(self):
            return graph.neighbours(integer(rank))


class DistgraphParts(MPI.Distgraphcomm):
    """The part of a distributed graph communicator that tells the neighbours of this process."""

    __slots__ = ()
    _members: CommunicatorMembers | None

    def Get_dist_neighbors_count(self) -> tuple[int, int, bool]:  # type: ignore[override]  # mpi4py says int
        """Return how many ranks it receives from and sends to, and whether edges have weights."""
        mine = _adjacency(self)
        if mine is None:
            count: Any = MPI.Distgraphcomm.Get_dist_neighbors_count(self)
            found: tuple[int, int, bool] = count
            return found
        return len(mine.sources), len(mine.destinations), mine.weights is not None

    def Get_dist_neighbors(
        self,
    ) -> tuple[list[int], list[int], tuple[list[int], list[int]] | None]:
        """Return from whom it receives, to whom it sends, and the weights of both if there are."""
        mine = _adjacency(self)
        if mine is None:
            return MPI.Distgraphcomm.Get_dist_neighbors(self)
        weights = None
        if mine.weights is not None:
            weights = (list(mine.weights[0]), list(mine.weights[1]))
        return list(mine.sources), list(mine.destinations), weights


def _shape(comm: CartParts) -> Cartesian | None:
    found = _topology(comm)
    return found if isinstance(found, Cartesian) else None


def _graph(comm: GraphParts) -> Graph | None:
    found = _topology(comm)
    return found if isinstance(found, Graph) else None


def _adjacency(comm: DistgraphParts) -> Adjacency | None:
    found = _topology(comm)
    return found if isinstance(found, Adjacency) else None


def _topology(comm: MPI.Comm) -> object:
    members: CommunicatorMembers | None = getattr(comm, "_members", None)
    return None if members is None or members.topology is None else members.topology.shape
