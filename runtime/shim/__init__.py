"""C programs in one COMM_WORLD: a library with MPI's functions, compiled for each cluster's MPI.

It is preloaded into a program. Calls on native communicators go to the MPI, others to Python in a
thread of the same process (`runtime.mpi.from_c`). `core.c` has what is written by hand; `source`
adds a function for each call of the table in `runtime.calls` that takes a communicator or a group,
as the header of that MPI declares it.
"""

from __future__ import annotations

from runtime.shim.functions import ASKED, MADE, OLDER, SERVED, function_numbers
from runtime.shim.preload import VARIABLE, Preload
from runtime.shim.programs import Linked, Verdict, verdict
from runtime.shim.source import source

__all__ = [
    "ASKED",
    "MADE",
    "OLDER",
    "SERVED",
    "VARIABLE",
    "Linked",
    "Preload",
    "Verdict",
    "function_numbers",
    "source",
    "verdict",
]
