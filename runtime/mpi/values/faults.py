"""What is wrong with an argument of a call on communicators, groups or topologies."""

from __future__ import annotations

from enum import StrEnum


class Wrong(StrEnum):
    """The class of error that MPI gives to a wrong argument, by its name in mpi4py."""

    ARGUMENT = "ERR_ARG"
    DIMENSIONS = "ERR_DIMS"
    GROUP = "ERR_GROUP"
    RANK = "ERR_RANK"
    TOPOLOGY = "ERR_TOPOLOGY"


class ArgumentFault(Exception):
    """An argument that MPI refuses; it becomes an `MPI.Exception` where it leaves a call."""

    def __init__(self, wrong: Wrong, message: str) -> None:
        super().__init__(message)
        self.wrong = wrong


def checked_rank(rank: int, size: int, what: str = "rank") -> int:
    """Return a rank that one of `size` processes has; raises `ArgumentFault` for another one."""
    if 0 <= rank < size:
        return rank
    raise ArgumentFault(Wrong.RANK, f"{what} {rank} is not between 0 and {size - 1}")
