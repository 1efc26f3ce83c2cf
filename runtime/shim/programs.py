"""Which native programs can have one COMM_WORLD over clusters, by the libraries they need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from gcm.records import dataclass
from runtime.linked_mpi import STATIC_MPI

_MPI = re.compile(r"libmpi(ch|_abi)?[-.]")
_MPI_FORTRAN = re.compile(r"libmpi(fort|_mpifh|_usempi\w*)[-.]")


class Linked(StrEnum):
    """What a program is, as far as MPI is concerned."""

    ALONE = "alone"
    """It needs no MPI by its file: each rank runs on its own."""
    SHARES = "shares"
    """It needs one MPI, whose functions can be taken over."""
    REFUSED = "refused"
    """It cannot have one COMM_WORLD over several clusters."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a program is, with the MPI that it needs, or why it is refused and what to do."""

    linked: Linked
    library: str = ""
    cause: str = ""
    cure: str = ""


def verdict(needed: Sequence[str]) -> Verdict:
    """Judge a program by the libraries that it needs, directly or not.

    >>> verdict(["libm.so.6", "libc.so.6"]).linked, verdict(["libmpi.so.12", "libc.so.6"]).linked
    (<Linked.ALONE: 'alone'>, <Linked.SHARES: 'shares'>)
    >>> verdict(["libmpi.so.12", "libmpi.so.40"]).cause
    'it needs two MPIs, libmpi.so.12 and libmpi.so.40'
    >>> verdict([STATIC_MPI, "libc.so.6"]).linked
    <Linked.REFUSED: 'refused'>
    >>> verdict(["libmpifort.so.12", "libmpi.so.12"]).cause
    'it is written in Fortran: it needs libmpifort.so.12'
    """
    if STATIC_MPI in needed:
        return Verdict(
            Linked.REFUSED,
            cause="its MPI is part of it (it is linked statically), where nothing stands before it",
            cure="Link it with the shared library of that MPI",
        )
    fortran = [one for one in needed if _MPI_FORTRAN.match(one)]
    if fortran:
        return Verdict(
            Linked.REFUSED,
            cause=f"it is written in Fortran: it needs {fortran[0]}",
            cure="Call MPI from C, or give each cluster an <application> of its own",
        )
    libraries = list(dict.fromkeys(one for one in needed if _MPI.match(one)))
    if len(libraries) > 1:
        return Verdict(
            Linked.REFUSED,
            cause=f"it needs two MPIs, {' and '.join(libraries)}",
            cure="Build it and its libraries with the mpicc of one MPI",
        )
    return Verdict(Linked.SHARES, libraries[0]) if libraries else Verdict(Linked.ALONE)
