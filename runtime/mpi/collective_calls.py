"""The collectives of communicators of the grid, put together from their parts."""

from __future__ import annotations

from runtime.mpi.collective_calls_blocking import BlockingCollectives, BlockingScans
from runtime.mpi.collective_calls_neighbours import (
    BlockingNeighbours,
    NonblockingNeighbours,
    PersistentNeighbours,
)
from runtime.mpi.collective_calls_nonblocking import NonblockingCollectives, NonblockingScans
from runtime.mpi.collective_calls_objects import ObjectCollectives, ObjectNeighbours, ObjectScans
from runtime.mpi.collective_calls_persistent import PersistentCollectives, PersistentScans


class Collectives(
    BlockingCollectives, NonblockingCollectives, PersistentCollectives, ObjectCollectives
):
    """The collectives of every communicator."""

    __slots__ = ()


class Scans(BlockingScans, NonblockingScans, PersistentScans, ObjectScans):
    """The collectives that only communicators of one group have."""

    __slots__ = ()


class NeighbourCollectives(
    BlockingNeighbours, NonblockingNeighbours, PersistentNeighbours, ObjectNeighbours
):
    """The collectives among neighbours."""

    __slots__ = ()
