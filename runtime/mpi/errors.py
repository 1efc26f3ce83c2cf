"""What can go wrong on the grid beyond what MPI defines, and MPI's errors as MPI raises them."""

from __future__ import annotations

from mpi4py import MPI

from runtime.errors import GridError
from runtime.membership.rank_link import current

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import NoReturn


class GridMPIError(GridError):
    """The root of the errors of MPI on the grid that MPI itself does not define."""


class ProcessGone(GridMPIError):
    """A process that a call waits for has ended or cannot be reached any more."""


class OutOfStep(GridMPIError):
    """The members of a communicator do not make the same collectives, or one failed in its call."""


class NotOnTheGrid(GridMPIError, NotImplementedError):
    """What native MPI can do inside a cluster, but nobody over several MPIs."""


def refuse(comm: MPI.Comm, error_class: int) -> NoReturn:
    """Raise an error of MPI as a call does that has a result: its error handler comes first."""
    report(comm, MPI.Exception(error_class))


def report(comm: MPI.Comm, error: BaseException) -> NoReturn:
    """Raise an error, to the error handler of a communicator first; see `tell`."""
    tell(comm, error)
    raise error


def tell(comm: MPI.Comm, error: BaseException) -> None:
    """Tell the error handler of a communicator of an error, if MPI or the grid raises it.

    It returns where the handler is the program's and returns: so does a call of MPI then. With
    MPI's own handlers it raises the error, or ends the whole run where errors are fatal, not the
    cluster alone. What MPI has no code for is `MPI.ERR_OTHER` to a handler, and raised anyway.
    """
    if not isinstance(error, MPI.Exception | GridMPIError):
        raise error
    code = error.error_code if isinstance(error, MPI.Exception) else MPI.ERR_OTHER
    handler = comm.Get_errhandler()
    is_fatal = handler in (MPI.ERRORS_ARE_FATAL, MPI.ERRORS_ABORT)
    is_of_mpi = handler == MPI.ERRORS_RETURN
    handler.Free()
    if is_fatal:
        abort(MPI.Get_error_class(code), error)
    comm.Call_errhandler(code)
    if is_of_mpi or not isinstance(error, MPI.Exception):
        raise error


def abort(code: int, error: BaseException | None = None) -> None:
    """Tell the front-end that this process ends the run, because of an error if it names one."""
    link = current()
    if link is not None:
        from runtime.membership.last_words import last_words_of_abort

        facts = last_words_of_abort(error)
        link.wrapper.health.aborted(link.name, code & 0xFF or 1, *facts)
