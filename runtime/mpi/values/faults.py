"""Errors in arguments of calls on communicators, groups or topologies."""

from __future__ import annotations

from enum import StrEnum


class Wrong(StrEnum):
    """The class of MPI's error for an invalid argument, by its name in mpi4py."""

    ARGUMENT = "ERR_ARG"
    DIMENSIONS = "ERR_DIMS"
    GROUP = "ERR_GROUP"
    RANK = "ERR_RANK"
    TOPOLOGY = "ERR_TOPOLOGY"


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
