"""The native MPIs that are known, and which of them something belongs to."""

from __future__ import annotations

import re

from runtime.native_mpi.contract import AUTO, NativeMpi
from runtime.native_mpi.mpich import MPICH, MPICH_WHEEL
from runtime.native_mpi.openmpi import OPEN_MPI

_VERSION = re.compile(r"\b\d+\.\d[\w.]*")

KNOWN: tuple[NativeMpi, ...] = (MPICH, OPEN_MPI)
"""All that a place may have. The first one that recognises something is taken."""

_NAMED = (*KNOWN, MPICH_WHEEL)

FLAVOURS = (AUTO, *(one.name for one in _NAMED))
"""What `flavour` may be in a descriptor."""

RANK_VARIABLES = tuple(name for one in KNOWN for name in one.rank_variables)
"""What an outer `mpiexec` tells its ranks; an inner one must not take itself for one of them."""


def native_mpi(flavour: str) -> NativeMpi:
    """Return the native MPI of a name; for any other one what all of them have in common."""
    return next((one for one in _NAMED if one.name == flavour), NativeMpi())


def native_mpi_of_version(words: str) -> NativeMpi | None:
    """Return the MPI to which an `mpiexec` belongs that says this of its version.

    >>> native_mpi_of_version("mpiexec (OpenRTE) 4.1.4").name
    'openmpi'
    """
    return next((one for one in KNOWN if any(mark in words for mark in one.marks)), None)


def version_in(words: str) -> str:
    """Return the MPI and its version as an `mpiexec` says them, "" if it says neither.

    >>> version_in("mpiexec (OpenRTE) 4.1.4"), version_in("HYDRA build details: Version: 5.0.2")
    ('openmpi 4.1.4', 'mpich 5.0.2')
    """
    native, number = native_mpi_of_version(words), _VERSION.search(words)
    return " ".join((*([native.name] if native else []), *([number[0]] if number else [])))


def native_mpi_of_library(flavour: str, library: str) -> NativeMpi:
    """Return the MPI of a cluster: the one that is named, else that of the loaded library."""
    if flavour != AUTO:
        return native_mpi(flavour)
    return native_mpi_of_version(library) or NativeMpi()


def is_interface_chosen(options: str) -> bool:
    """Return whether options of an `mpiexec` choose the network interface for some MPI."""
    return any(name in options for one in KNOWN for name in one.interface_options)
