"""What can go wrong on the grid beyond what MPI defines, and MPI's errors as MPI raises them."""

from __future__ import annotations

from mpi4py import MPI

from runtime.errors import GridError

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import NoReturn


class GridMPIError(GridError):
    """The root of the errors of MPI on the grid that MPI itself does not define."""


class ProcessGone(GridMPIError):
    """A process that a call waits for has ended or cannot be reached any more."""


class HungUp(GridMPIError):
    """This process has ended its connections itself."""


class NotOnTheGrid(GridMPIError, NotImplementedError):
    """What native MPI can do inside a cluster, but nobody over several MPIs."""


def refuse(comm: MPI.Comm, error_class: int) -> NoReturn:
    """Raise an error of MPI as a call on a communicator does: its error handler comes first."""
    report(comm, MPI.Exception(error_class))


def report(comm: MPI.Comm, error: BaseException) -> NoReturn:
    """Raise an error, to the error handler of a communicator first if it is one of MPI."""
    if isinstance(error, MPI.Exception):
        comm.Call_errhandler(error.error_code)
    raise error
