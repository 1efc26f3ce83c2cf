"""The calls of MPI: the one list of their names, arguments and kinds. See `table`."""

from __future__ import annotations

from runtime.calls.table import (
    BEGUN,
    BLOCKING,
    COLLECTIVES,
    CURES,
    LOCAL,
    LOOK,
    NATIVE,
    OF_COMMUNICATORS,
    OF_REQUESTS,
    OURS,
    PERSISTENT,
    PLAN,
    REFUSED,
    SYNCHRONOUS,
    WITH_REQUESTS,
    Argument,
    MpiCall,
    every_call,
    of_kind,
)

__all__ = [
    "BEGUN",
    "BLOCKING",
    "COLLECTIVES",
    "CURES",
    "LOCAL",
    "LOOK",
    "NATIVE",
    "OF_COMMUNICATORS",
    "OF_REQUESTS",
    "OURS",
    "PERSISTENT",
    "PLAN",
    "REFUSED",
    "SYNCHRONOUS",
    "WITH_REQUESTS",
    "Argument",
    "MpiCall",
    "every_call",
    "of_kind",
]
