"""What the native MPI says about this process; asking initialises MPI."""

from __future__ import annotations


class NativeWorld:
    """This process's place in `COMM_WORLD` of its cluster, and the MPI library that says so."""

    def __init__(self, rank: int, size: int, library: str, tag_limit: int) -> None:
        self.rank = rank
        self.size = size
        self.library = library
        self.tag_limit = tag_limit


def load() -> None:
    """Load MPI without initialising it: `native_world` does that, in a forked copy of this process.

    Nothing happens where it cannot be loaded, because `native_world` fails in the same way.
    """
    try:
        from mpi4py import rc

        asked = rc.initialize, rc.finalize
        rc.initialize, rc.finalize = False, asked[1] is not False
        try:
            from mpi4py import MPI  # noqa: F401 - that is all
        finally:
            rc.initialize, rc.finalize = asked
    except Exception:  # loading an MPI can raise all kinds of errors
        return


def native_world() -> NativeWorld:
    """Initialise MPI and return what it says.

    Raises any error of an MPI that cannot be loaded or initialised.
    """
    from mpi4py import MPI

    if not MPI.Is_initialized():
        _initialise()
    world = MPI.COMM_WORLD
    library = MPI.Get_library_version().splitlines()[0].strip("\0 ")
    return NativeWorld(world.Get_rank(), world.Get_size(), library, greatest_tag())


def greatest_tag() -> int:
    """Return the greatest tag of the native MPI; the standard guarantees at least 32767."""
    from mpi4py import MPI

    limit = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    return limit if isinstance(limit, int) else 32767


def _initialise() -> None:
    """Do what mpi4py does when it is imported."""
    from mpi4py import MPI, rc

    level = rc.thread_level.upper() if rc.threads else "SINGLE"
    MPI.Init_thread(getattr(MPI, f"THREAD_{level}"))
