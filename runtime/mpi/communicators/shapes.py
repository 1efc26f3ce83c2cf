"""The shapes in which the ranks of a communicator can be arranged, and their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import prod
from typing import TypeAlias

from mpi4py import MPI

from gcm.records import dataclass
from runtime.mpi.values.faults import Wrong, WrongArgument, checked_rank

Neighbour: TypeAlias = int | None
"""A rank, or None beyond the edge of a Cartesian shape."""


@dataclass(frozen=True, slots=True)
class Cartesian:
    """Ranks as the cells of a grid of any number of dimensions, the last one running fastest."""

    dims: tuple[int, ...]
    periods: tuple[bool, ...]

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.dims)

    def coords(self, rank: int) -> list[int]:
        """Return the coordinates of a rank; raises `WrongArgument` when it has no cell."""
        left = checked_rank(rank, self.size)
        found = []
        for extent in reversed(self.dims):
            left, coordinate = divmod(left, extent)
            found.append(coordinate)
        return found[::-1]

    def rank(self, coords: Sequence[int]) -> int:
        """Return the rank of a cell; coordinates of periodic dimensions may be any number.

        Raises `WrongArgument` for a coordinate outside a dimension that is not periodic.

        >>> Cartesian((2, 3), (False, True)).rank([1, -1])
        5
        """
        rank = 0
        for number, coordinate in enumerate(coords):
            extent = self.dims[number]
            if not self.periods[number] and not 0 <= coordinate < extent:
                raise WrongArgument(
                    Wrong.ARGUMENT,
                    f"coordinate {number} is {coordinate}, not between 0 and {extent - 1}",
                )
            rank = rank * extent + coordinate % extent
        return rank

    def shifted(self, rank: int, direction: int, by: int) -> tuple[Neighbour, Neighbour]:
        """Return the ranks that lie `by` cells before and behind a rank in a direction.

        Raises `WrongArgument` when there is no such dimension or rank.
        """
        if not 0 <= direction < len(self.dims):
            text = f"there is no direction {direction} in {len(self.dims)} dimensions"
            raise WrongArgument(Wrong.ARGUMENT, text)
        return self._beside(rank, direction, -by), self._beside(rank, direction, by)

    def neighbours(self, rank: int) -> list[Neighbour]:
        """Return the ranks before and behind a rank in each direction, in MPI's order."""
        return [
            neighbour
            for direction in range(len(self.dims))
            for neighbour in self.shifted(rank, direction, 1)
        ]

    def part(self, rank: int, remain: Sequence[bool]) -> tuple[Cartesian, list[int]]:
        """Return the shape with only some of the dimensions, and the ranks of `rank`'s part of it.

        >>> Cartesian((2, 3), (False, True)).part(4, [False, True])
        (Cartesian(dims=(3,), periods=(True,)), [3, 4, 5])
        """
        mine = self.coords(rank)
        kept = [number for number, stays in enumerate(remain) if stays]
        shape = Cartesian(
            tuple(self.dims[number] for number in kept),
            tuple(self.periods[number] for number in kept),
        )
        choices = [
            range(extent) if stays else (fixed,)
            for extent, stays, fixed in zip(self.dims, remain, mine, strict=True)
        ]
        return shape, [self.rank(coords) for coords in product(*choices)]

    def _beside(self, rank: int, direction: int, by: int) -> Neighbour:
        coords = self.coords(rank)
        coords[direction] += by
        if self.periods[direction] or 0 <= coords[direction] < self.dims[direction]:
            return self.rank(coords)
        return None


@dataclass(frozen=True, slots=True)
class Graph:
    """Ranks as nodes of a graph: `edges[index[rank - 1]:index[rank]]` are neighbours of `rank`."""

    index: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.index)

    def neighbours(self, rank: int) -> list[int]:
        """Return the neighbours of a rank; raises `WrongArgument` when it is no node."""
        checked_rank(rank, self.size)
        first = self.index[rank - 1] if rank else 0
        return list(self.edges[first : self.index[rank]])


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The neighbours of one rank in a distributed graph, which no rank knows as a whole."""

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    weights: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """The weights of the edges from the sources, and to the destinations."""


def checked_cartesian(dims: Sequence[int], periods: Sequence[bool], room: int) -> Cartesian:
    """Return a Cartesian shape for at most `room` ranks; raises `WrongArgument` if invalid."""
    for number, extent in enumerate(dims):
        if extent <= 0:
            text = f"dimension {number} has the extent {extent}; it has to be at least 1"
            raise WrongArgument(Wrong.DIMENSIONS, text)
    shape = Cartesian(tuple(dims), tuple(map(bool, periods)))
    if shape.size > room:
        text = f"the dimensions {list(dims)} need {shape.size} ranks; there are {room}"
        raise WrongArgument(Wrong.ARGUMENT, text)
    return shape


def checked_graph(index: Sequence[int], edges: Sequence[int], room: int) -> Graph:
    """Return a graph of at most `room` ranks; raises `WrongArgument` if invalid."""
    if len(index) > room:
        text = f"the graph has {len(index)} nodes; there are {room} ranks"
        raise WrongArgument(Wrong.ARGUMENT, text)
    if any(after < before for before, after in pairwise((0, *index))):
        raise WrongArgument(Wrong.ARGUMENT, f"the index {list(index)} does not grow")
    if (index[-1] if index else 0) != len(edges):
        text = f"the index ends with {index[-1] if index else 0}; there are {len(edges)} edges"
        raise WrongArgument(Wrong.ARGUMENT, text)
    for edge in edges:
        if not 0 <= edge < len(index):
            text = f"an edge leads to {edge}; the nodes are 0 to {len(index) - 1}"
            raise WrongArgument(Wrong.ARGUMENT, text)
    return Graph(tuple(index), tuple(edges))


def adjacency_of(
    rank: int,
    edges: Sequence[tuple[int, int, int]],
    weighted: bool,
) -> Adjacency:
    """Return the neighbours of a rank in a graph, given as edges (from, to, weight).

    >>> adjacency_of(1, [(0, 1, 5), (1, 2, 6), (1, 1, 7)], weighted=True)
    Adjacency(sources=(0, 1), destinations=(2, 1), weights=((5, 7), (6, 7)))
    """
    coming = [edge for edge in edges if edge[1] == rank]
    going = [edge for edge in edges if edge[0] == rank]
    weights = (tuple(edge[2] for edge in coming), tuple(edge[2] for edge in going))
    return Adjacency(
        tuple(edge[0] for edge in coming),
        tuple(edge[1] for edge in going),
        weights if weighted else None,
    )


@dataclass(frozen=True, slots=True)
class Topology:
    """The topology of a communicator: its shape, and MPI's number for its kind."""

    shape: Cartesian | Graph | Adjacency

    @property
    def kind(self) -> int:
        """CART, GRAPH or DIST_GRAPH."""
        match self.shape:
            case Cartesian():
                return MPI.CART
            case Graph():
                return MPI.GRAPH
            case Adjacency():
                return MPI.DIST_GRAPH

    def neighbours(self, rank: int) -> tuple[list[int], list[int]]:
        """Return from whom a rank receives, and to whom it sends; PROC_NULL stands for none.

        In a distributed graph it has to be the rank of this process.
        """
        if isinstance(self.shape, Adjacency):
            return list(self.shape.sources), list(self.shape.destinations)
        both = [rank_of(neighbour) for neighbour in self.shape.neighbours(rank)]
        return both, list(both)

    def on(self, native: MPI.Intracomm) -> MPI.Topocomm:
        """Return a native communicator with this topology and the members of `native`."""
        match self.shape:
            case Cartesian(dims, periods):
                return native.Create_cart(dims, periods)
            case Graph(indexes, edges):
                return native.Create_graph((0, *indexes), edges)
            case Adjacency(sources, destinations, weights):
                return native.Create_dist_graph_adjacent(
                    sources, destinations, *(weights or (None, None))
                )


def rank_of(neighbour: Neighbour) -> int:
    """Return the number that MPI uses for a neighbour: PROC_NULL for none."""
    return MPI.PROC_NULL if neighbour is None else neighbour
