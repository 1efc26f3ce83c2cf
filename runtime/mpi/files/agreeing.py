"""Errors that one rank has in a call of all, told to the others: nobody waits for it."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from runtime.files.faults import FileFault
from runtime.mpi.files.access import as_mpi_error


def agree(comm: Any, problem: Exception | None, value: Any = None) -> list[Any]:
    """Return the values of all ranks; raise the problem of this one, or else of another one."""
    told = comm.allgather((None if problem is None else name_of_class(problem), value))
    if problem is not None:
        raise problem
    for rank, (wrong, _) in enumerate(told):
        if wrong is not None:
            name, text = wrong
            raise as_mpi_error(FileFault(name, f"rank {rank} could not do its part: {text}"))
    return [one for _, one in told]


def name_of_class(problem: Exception) -> tuple[str, str]:
    """Return MPI's class of an error by its name, since others number it differently, and words."""
    notes: list[str] = getattr(problem, "__notes__", [])
    if isinstance(problem, FileFault):
        return problem.name, str(problem)
    number = problem.Get_error_class() if isinstance(problem, MPI.Exception) else MPI.ERR_OTHER
    names = (one for one in dir(MPI) if one.startswith("ERR_"))
    name = next((one for one in names if getattr(MPI, one) == number), "ERR_OTHER")
    return name, "; ".join((f"{type(problem).__name__}: {problem}", *notes))
