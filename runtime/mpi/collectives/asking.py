"""Tells programs which plan a collective would use."""

from __future__ import annotations

from mpi4py import MPI

from runtime.collectives.choice import PLANS
from runtime.errors import GridError
from runtime.mpi.collectives.state import state_of


def plan_of(comm: MPI.Comm, operation: str, size: int | None = None) -> str:
    """Return the plan of an operation such as "Bcast" for a size in bytes; does not communicate.

    It is "native" for communicators within a cluster, and empty between two groups. Reductions are
    assumed to have a predefined operation.

    Raises:
        GridError: the operation has only one plan.
    """
    members = getattr(comm, "_members", None)
    if operation not in PLANS:
        raise GridError(
            f"{operation} has one plan only", cure=f"These have several: {', '.join(PLANS)}"
        )
    if members is None:
        return "native"
    return str(state_of(members).chosen(operation, size))
