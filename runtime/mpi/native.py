"""What the native MPI says about this process; asking for it initialises MPI."""

from __future__ import annotations


class NativeWorld:
    """This process's place in `COMM_WORLD` of its cluster, and which library says so."""

    __slots__ = ("library", "rank", "size")

    def __init__(self, rank: int, size: int, library: str) -> None:
        self.rank = rank
        self.size = size
        self.library = library


def native_world() -> NativeWorld:
    """Initialise MPI and return what it says.

    Raises whatever an MPI raises that cannot be loaded or started; that may be anything.
    """
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    library = MPI.Get_library_version().splitlines()[0].strip("\0 ")
    return NativeWorld(world.Get_rank(), world.Get_size(), library)
