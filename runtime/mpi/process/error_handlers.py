"""The error handlers of new objects, as mpi4py sets them under plain MPI."""

from __future__ import annotations

from mpi4py import MPI

from runtime.mpi.process.options import option

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    _Comm = TypeVar("_Comm", bound=MPI.Comm)
    _Made = TypeVar("_Made", bound=MPI.Comm | MPI.Session | MPI.Win | MPI.File)

_OTHERS = ("default", "fatal", "abort")
"""The values of `mpi4py.rc.errors` besides `exception`."""

_asked: object = "exception"
"""The value of `mpi4py.rc.errors` when the program began to use MPI."""


def handle_errors_as_asked(comms: Iterable[MPI.Comm]) -> None:
    """Give communicators, and those to come, the error handler that `mpi4py.rc.errors` asks for.

    MPI was initialised before the program could set that: mpi4py itself has not seen it.
    """
    global _asked  # noqa: PLW0603 - mpi4py asks once in a process, too
    _asked = option("errors")
    for comm in comms:
        handle_as_asked(comm)


def handle_as_asked(made: _Made, default: MPI.Errhandler = MPI.ERRORS_ARE_FATAL) -> _Made:
    """Give an object without parent its error handler, and return it; `default` is MPI's own."""
    if _asked in _OTHERS and made:
        made.Set_errhandler(_handler(default))
    return made


def hand_down(parent: MPI.Comm, made: _Comm) -> _Comm:
    """Give a new communicator its error handler, and return it.

    With `exception`, mpi4py gives every new one ERRORS_RETURN, whatever its parent has; MPI, which
    `default` asks for, that of its parent.
    """
    if _asked in _OTHERS and made:
        inherited = parent.Get_errhandler()
        made.Set_errhandler(_handler(inherited))
        inherited.Free()
    return made


def _handler(default: MPI.Errhandler) -> MPI.Errhandler:
    return {"fatal": MPI.ERRORS_ARE_FATAL, "abort": MPI.ERRORS_ABORT}.get(str(_asked), default)
