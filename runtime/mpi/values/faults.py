"""Wrong arguments of calls on communicators, groups or topologies, as mpi4py raises them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from mpi4py import MPI

from runtime.mpi.errors import report


class Wrong(StrEnum):
    """The class of MPI's error for an invalid argument, by its name in mpi4py."""

    ARGUMENT = "ERR_ARG"
    ATTACH = "ERR_RMA_ATTACH"
    COUNT = "ERR_COUNT"
    DISPLACEMENT = "ERR_DISP"
    DIMENSIONS = "ERR_DIMS"
    EPOCH = "ERR_RMA_SYNC"
    FLAVOR = "ERR_RMA_FLAVOR"
    GROUP = "ERR_GROUP"
    LOCKTYPE = "ERR_LOCKTYPE"
    MEMORY = "ERR_NO_MEM"
    OPERATION = "ERR_OP"
    RANK = "ERR_RANK"
    SHARED = "ERR_RMA_SHARED"
    SIZE = "ERR_SIZE"
    TOPOLOGY = "ERR_TOPOLOGY"
    TYPE = "ERR_TYPE"


class WrongArgument(Exception):
    """An argument that MPI refuses; it becomes an `MPI.Exception` where it leaves a call."""

    def __init__(self, wrong: Wrong, message: str) -> None:
        super().__init__(message)
        self.wrong = wrong


def checked_rank(rank: int, size: int, what: str = "rank") -> int:
    """Return a valid rank of `size` processes; raises `WrongArgument` for another one."""
    if 0 <= rank < size:
        return rank
    raise WrongArgument(Wrong.RANK, f"{what} {rank} is not between 0 and {size - 1}")


def check_kind(given: object, kind: type, name: str) -> None:
    """Raise mpi4py's TypeError for an argument that is not the required MPI object."""
    if not isinstance(given, kind):
        words = f"expected mpi4py.MPI.{kind.__name__}, got {type(given).__name__}"
        raise TypeError(f"Argument {name!r} has incorrect type ({words})")


def check_status(status: object) -> None:
    """Raise mpi4py's TypeError for an argument that is not a status."""
    if status is not None:
        check_kind(status, MPI.Status, "status")


@contextmanager
def as_mpi(comm: MPI.Comm | None = None) -> Iterator[None]:
    """Turn an `WrongArgument` into the `MPI.Exception` of its class, with its text as a note.

    The error handler of a communicator is called first.
    """
    try:
        yield
    except WrongArgument as fault:
        error = MPI.Exception(getattr(MPI, fault.wrong))
        error.add_note(str(fault))
        error.__suppress_context__ = True  # it says the same
        if comm is None:
            raise error from None
        report(comm, error)
