"""The error handlers of new communicators: those that mpi4py gives them under plain MPI."""

from __future__ import annotations

from mpi4py import MPI, rc

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    _Comm = TypeVar("_Comm", bound=MPI.Comm)

_OTHERS = ("default", "fatal", "abort")
"""What `mpi4py.rc.errors` may say besides `exception`."""

_asked = "exception"
"""What `mpi4py.rc.errors` said when the program began to use MPI."""


def handle_errors_as_asked(comms: Iterable[MPI.Comm]) -> None:
    """Give communicators, and those to come, the error handler that `mpi4py.rc.errors` asks for.

    MPI was there before the program could ask: mpi4py itself has not seen it.
    """
    global _asked  # noqa: PLW0603 - mpi4py asks once in a process, too
    _asked = rc.errors
    for comm in comms:
        handle_as_asked(comm)


def handle_as_asked(made: _Comm) -> _Comm:
    """Give a communicator that has no parent its error handler, and return it."""
    if _asked in _OTHERS and made:
        made.Set_errhandler(_handler(MPI.ERRORS_ARE_FATAL))
    return made


def hand_down(parent: MPI.Comm, made: _Comm) -> _Comm:
    """Give a communicator that was just made its error handler, and return it.

    With `exception`, mpi4py gives every new one ERRORS_RETURN, whatever its parent has; MPI, which
    `default` asks for, that of its parent.
    """
    if _asked in _OTHERS and made:
        inherited = parent.Get_errhandler()
        made.Set_errhandler(_handler(inherited))
        inherited.Free()
    return made


def _handler(default: MPI.Errhandler) -> MPI.Errhandler:
    return {"fatal": MPI.ERRORS_ARE_FATAL, "abort": MPI.ERRORS_ABORT}.get(_asked, default)
