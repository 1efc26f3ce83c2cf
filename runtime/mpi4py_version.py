"""Which mpi4py ranks can have. Needs nothing, since ranks and the doctor ask."""

from __future__ import annotations

OLDEST_MPI4PY = 4
"""The first number of the oldest one, which has handles of everything and sessions."""


def is_too_old(version: str) -> bool:
    """Tell whether an mpi4py of a version lacks what communicators over clusters need.

    >>> is_too_old("3.1.6"), is_too_old("4.0.0"), is_too_old("")
    (True, False, False)
    """
    first = version.partition(".")[0]
    return first.isdecimal() and int(first) < OLDEST_MPI4PY
