"""Faults of arguments as the exceptions that mpi4py raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mpi4py import MPI

from runtime.mpi.arguments import ArgumentFault
from runtime.mpi.errors import report


@contextmanager
def as_mpi(comm: MPI.Comm | None = None) -> Iterator[None]:
    """Turn an `ArgumentFault` into the `MPI.Exception` of its class, with its text as a note.

    The error handler of a communicator is called first.
    """
    try:
        yield
    except ArgumentFault as fault:
        error = MPI.Exception(getattr(MPI, fault.wrong))
        error.add_note(str(fault))
        if comm is None:
            raise error from None
        report(comm, error)
