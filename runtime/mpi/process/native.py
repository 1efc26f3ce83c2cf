"""What the native MPI says about this process; asking initialises MPI."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping


class NativeWorld:
    """This process's place in `COMM_WORLD` of its cluster, and the MPI library that says so."""

    def __init__(self, rank: int, size: int, library: str, tag_limit: int) -> None:
        self.rank = rank
        self.size = size
        self.library = library
        self.tag_limit = tag_limit


def load() -> None:
    """Load MPI without initialising it: `native_world` does that, in a forked copy of this process.

    Where it cannot be loaded nothing happens, because `native_world` fails in the same way. Twice
    is once.
    """
    if "mpi4py.MPI" in sys.modules:
        return
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


ON_ONE_HOST = {"UCX_TLS": "sm,self", "FI_PROVIDER": "shm"}
"""Settings with which the networks of MPICH, UCX and libfabric, listen nowhere.

Ranks of one host need no network. What a user has set counts more.
"""


def without_network(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those of these settings that a user has not made, for a rank that is on one host.

    None if who has started it says otherwise: an `mpiexec` may be a script that names more hosts,
    and so may settings of a user or a site.
    """
    ranks = environment.get("PMI_SIZE")
    if environment.get("MPI_LOCALNRANKS", ranks) != ranks:
        return {}
    return {name: one for name, one in ON_ONE_HOST.items() if name not in environment}


def native_world(*, is_on_one_host: bool = False) -> NativeWorld:
    """Initialise MPI and return what it says; it listens nowhere if it `is_on_one_host`.

    Raises any error of an MPI that cannot be loaded or initialised.
    """
    load()  # to import it initialises it, before anything can be set for that
    from mpi4py import MPI

    if not MPI.Is_initialized():
        is_mpich = "MPICH" in MPI.Get_library_version()
        own = without_network(os.environ) if is_on_one_host and is_mpich else {}
        os.environ.update(own)
        try:
            _initialise()
        finally:
            for name in own:  # the program finds what its user has set
                del os.environ[name]
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
