"""Errors of native calls that are tried: they raise here, whatever the program wants of errors.

For a call without a communicator MPI asks COMM_SELF or COMM_WORLD what to do, which end a program
in C unless it says something else: that of the communicator or window that it uses is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mpi4py import MPI


@contextmanager
def errors_raised() -> Iterator[None]:
    """Let errors of native calls on COMM_SELF, or on no communicator, raise meanwhile."""
    before = [(one, one.Get_errhandler()) for one in (MPI.COMM_SELF, MPI.COMM_WORLD)]
    try:
        for comm, _ in before:
            MPI.Comm.Set_errhandler(comm, MPI.ERRORS_RETURN)
        yield
    finally:
        for comm, handler in before:
            MPI.Comm.Set_errhandler(comm, handler)
            handler.Free()
