"""What the functions of MPI have in common that a C program calls over several clusters.

Each takes the arguments of that function as numbers, and returns the handle that it makes, or 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.mpi.from_c.requests import Requests
from runtime.mpi.from_c.values import Values

Call = Callable[..., int]
Prepared = Callable[..., tuple[Any, tuple[Any, ...]]]
"""Makes of the arguments a communicator, and the arguments of its method."""


class Calls:
    """Some functions of MPI, for the handles of one program."""

    def __init__(self, values: Values, requests: Requests) -> None:
        self._values, self._requests = values, requests

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        raise NotImplementedError

    def _begun(self, name: str, prepare: Prepared, arity: int) -> Call:
        """Return a call that makes a request of the first arguments, the last a communicator."""
        keep = self._requests.keep

        def call(*words: int) -> int:
            comm, args = prepare(*words[:arity])
            return keep(getattr(comm, name)(*args), words[arity - 1])

        return call


def blocking(name: str, prepare: Prepared) -> Call:
    """Return a call of a method that returns nothing."""

    def call(*words: int) -> int:
        comm, args = prepare(*words)
        getattr(comm, name)(*args)
        return 0

    return call
