"""What a front-end says of ranks that cannot run, or died too early: whole messages.

`lines` are the last ones that the ranks of the cluster wrote to stderr.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from runtime.errors import GridError
from runtime.launchers.errors import WrongMpiexec
from runtime.machine.deaths import SIGNALLED, RankDeath, in_words
from runtime.membership.whereabouts import RankArrival
from runtime.topology import RankNames

SHARED_MEMORY = 64 << 20
"""Bytes of shared memory with which a few ranks can start, and that containers have by default."""


def _cure(lines: str) -> str:
    if lines:
        return "The last lines of the ranks' stderr are below"
    return "The ranks wrote nothing to stderr; " + (
        scarce_memory() or "see whether their host has memory and processors left"
    )


def scarce_memory(folder: str = "/dev/shm") -> str:
    """Return what to do about the memory that ranks share here, nothing if there is enough."""
    try:
        known = os.statvfs(folder)
    except OSError:
        return ""
    size, free = known.f_blocks * known.f_frsize, known.f_bavail * known.f_frsize
    if min(size, free) > SHARED_MEMORY:
        return ""
    return (
        f"{folder}, in which they share memory, has {size >> 20:,} MiB, of which {free >> 20:,} are"
        f" free: make it larger (mount -o remount,size=1g {folder}; docker run --shm-size=1g)"
    )


def at_home(path: str, fault: GridError) -> str:
    """Return the message of a fault, with the cluster at a path and this host as its place."""
    here = f"{path} on {os.uname().nodename}"
    fault.place = here if fault.place in ("", "local") else f"{here} ({fault.place})"
    return str(fault)


def unable(names: RankNames, rank: str, why: str, python: str) -> GridError:
    """Return the fault of a rank that cannot start its MPI; without a `python` it is another."""
    if not python:
        return GridError(f"{names.name(rank)} cannot start: {why}")
    return GridError(
        f"{names.name(rank)} cannot start MPI: {why}",
        cure=f"Install mpi4py and its MPI for {python}, or name another Python for the cluster",
    )


def of_another_mpi(mpiexec: str, ranks: int, arrival: RankArrival) -> WrongMpiexec:
    """Return the fault of an `mpiexec` that is not of the MPI that its ranks use."""
    return WrongMpiexec(
        f"{mpiexec!r} started {ranks} ranks, but one takes itself for rank {arrival.rank} of"
        f" {arrival.size}: its mpi4py uses another MPI",
        cause=arrival.mpi,
        cure="Name the mpiexec that belongs to that mpi4py, usually the one beside python",
    )


def died_early(names: RankNames, death: RankDeath, lines: str) -> GridError:
    """Return the fault of a rank that died before the application started."""
    seen = death.observed
    return GridError(
        f"{names.name(death.who)} died before the application started:"
        f" {seen.why or seen.exception or death.ending}",
        cause=seen.traceback or lines,
        cure=_cure(seen.traceback or lines),
    )


def some_died_early(names: RankNames, unheard: Sequence[str], lines: str) -> GridError:
    """Return the fault of ranks that are missing before the application started."""
    return GridError(
        "a rank died before the application started; not heard from: "
        + (names.names(unheard) or "none; so it died while MPI started"),
        cause=lines,
        cure=_cure(lines),
    )


def all_ended(names: RankNames, code: int, unheard: Sequence[str], lines: str) -> GridError:
    """Return the fault of a native MPI that has ended with a code before it should."""
    who = f"; not heard from: {names.names(unheard)}" if unheard else ""
    return GridError(
        f"the ranks ended with {in_words(code, max(0, code - SIGNALLED))}"
        f" before the application started{who}",
        cause=lines,
        cure=_cure(lines),
    )
