"""What a program asks for in `mpi4py.rc`, or its environment, before it imports MPI.

New objects get the error handlers that it asks for there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from mpi4py import MPI, rc

if TYPE_CHECKING:
    _Comm = TypeVar("_Comm", bound=MPI.Comm)
    _Made = TypeVar("_Made", bound=MPI.Comm | MPI.Session | MPI.Win | MPI.File)


YES = (True, "yes", "true", "on", "y", "1")
_NO = (False, "no", "false", "off", "n", "0")
LEVELS = ("single", "funneled", "serialized", "multiple")
_ALLOWED: dict[str, tuple[object, ...]] = {
    "initialize": (*YES, *_NO),
    "threads": (*YES, *_NO),
    "thread_level": LEVELS,
    "finalize": (None, *YES, *_NO),
    "errors": ("exception", "default", "abort", "fatal"),
}


def option(name: str) -> object:
    """Return a value of `mpi4py.rc`, or of its environment variable, which takes precedence.

    For a value that mpi4py does not know, warn and return the default.
    """
    value = os.environ.get(f"MPI4PY_RC_{name.upper()}")
    asked: object = getattr(rc, name) if value is None else value.lower()
    if asked in _ALLOWED[name]:
        return asked
    import warnings

    warnings.warn(f"mpi4py.rc.{name}: unexpected value {asked!r}", RuntimeWarning, stacklevel=2)
    return getattr(type(rc), name)


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
