"""The collectives of communicators of the grid, put together from their parts."""

from __future__ import annotations

from runtime.mpi.collectives.blocking import BlockingCollectives, BlockingScans
from runtime.mpi.collectives.neighbours import (
    BlockingNeighbours,
    NonblockingNeighbours,
    PersistentNeighbours,
)
from runtime.mpi.collectives.nonblocking import NonblockingCollectives, NonblockingScans
from runtime.mpi.collectives.objects import ObjectCollectives, ObjectNeighbours, ObjectScans
from runtime.mpi.collectives.persistent import PersistentCollectives, PersistentScans


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
