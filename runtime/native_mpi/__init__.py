"""Native MPI jobs as values, and what is particular to each native MPI. Pure text: nothing runs."""

from runtime.native_mpi.contract import AUTO, MpiAbort, MpiWorld, NativeMpi
from runtime.native_mpi.job import (
    Job,
    JobPart,
    RankProgram,
    RankProxy,
    python_module,
    run_directory_arguments,
)
from runtime.native_mpi.known import (
    FLAVOURS,
    KNOWN,
    RANK_VARIABLES,
    is_interface_chosen,
    native_mpi,
    native_mpi_of_library,
    native_mpi_of_version,
    version_in,
)
from runtime.native_mpi.managed import ManagedRanks
from runtime.native_mpi.mpich import MPICH, MPICH_WHEEL
from runtime.native_mpi.openmpi import OPEN_MPI
from runtime.native_mpi.pmi import PmiAbort, PmiAnswer, PmiExchange, PmiFault, PmiServer

__all__ = [
    "AUTO",
    "FLAVOURS",
    "KNOWN",
    "MPICH",
    "MPICH_WHEEL",
    "OPEN_MPI",
    "RANK_VARIABLES",
    "Job",
    "JobPart",
    "ManagedRanks",
    "MpiAbort",
    "MpiWorld",
    "NativeMpi",
    "PmiAbort",
    "PmiAnswer",
    "PmiExchange",
    "PmiFault",
    "PmiServer",
    "RankProgram",
    "RankProxy",
    "is_interface_chosen",
    "native_mpi",
    "native_mpi_of_library",
    "native_mpi_of_version",
    "python_module",
    "run_directory_arguments",
    "version_in",
]
