"""Which `mpiexec` starts the ranks of a Python: that of the MPI which its mpi4py loads.

Reads folders and files only, and runs nothing. It travels with the doctor's probe, so that the
doctor and a run never disagree.
"""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterator, Mapping
from importlib import machinery, util

from runtime.linked_mpi import find_library, mpi_library, system_library

PREPARED_PATH = "GCM_PREPARED_PATH"
"""What `runtime.deployment.planning.preparation` calls what modules and line have added to PATH."""

USUAL = "mpiexec"
"""What a descriptor says that names none."""

_NAMES = ("libmpi.so", "libmpi.so.12", "libmpi.so.40")  # the order in which wheels of mpi4py look
_LEVELS = 4  # /usr/lib/x86_64-linux-gnu/openmpi/lib belongs to /usr/bin
_FAMILIES = {
    "mpich": re.compile(r"hydra|mpich|libmpi\.so\.12\b"),
    "openmpi": re.compile(r"orterun|prterun|prte\b|openmpi|ompi|libmpi\.so\.[24]0\b"),
}


def choose_mpiexec(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the path of the `mpiexec` for ranks of this Python, "" for none, and why that one.

    In this order: what is named; the first that `modules` and `before` bring; the one in the folder
    of the library that mpi4py loads, or the first on PATH of the same MPI; the first on PATH.
    """
    path = environment.get("PATH", os.defpath)
    if name != USUAL:
        return _first(os.path.expanduser(name), path), "as named"
    if found := _first(name, environment.get(PREPARED_PATH, "")):
        return found, "brought by modules or before"
    library = mpi4py_library(environment)
    if library:
        called = _called(library)
        beside = (_first(one, folder) for folder in _programs_near(library) for one in called)
        why = f"that of the MPI that mpi4py loads, {library}"
        if found := next((one for one in beside if one and _may_fit(one, library)), ""):
            return found, why
        on_path = (_first(one, folder) for folder in path.split(os.pathsep) for one in called)
        if found := next((one for one in on_path if one and _family(one) == _family(library)), ""):
            return found, f"the first on PATH for the MPI that mpi4py loads, {library}"
    return _first(name, path), "the first on PATH"


def mpi4py_library(environment: Mapping[str, str]) -> str:
    """Return the MPI library that the mpi4py of this Python would load; "" where nobody knows."""
    try:
        spec = util.find_spec("mpi4py")
    except (ImportError, ValueError):
        return ""
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for end in machinery.EXTENSION_SUFFIXES:
            built = os.path.join(folder, f"MPI{end}")
            if os.path.isfile(built):
                try:
                    return _existing(mpi_library(built, environment))
                except OSError:
                    return ""
        if os.path.isfile(os.path.join(folder, "_mpiabi.py")):
            return _library_of_wheel(environment)
    return ""


def _library_of_wheel(environment: Mapping[str, str]) -> str:
    """Return the library that a wheel of mpi4py finds, which has none of its own."""
    named = environment.get("MPI4PY_LIBMPI")
    places = named.split(os.pathsep) if named else [*_prefixes(), ""]
    beside = environment.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    given = [one for one in beside if one]
    for place in map(os.path.expanduser, places):
        if place and not os.path.isdir(place):
            found = place if os.sep in place else find_library(place, given)
            if os.path.isfile(found):
                return found
        for name in _NAMES if not place or os.path.isdir(place) else ():
            if found := find_library(name, [place] if place else given):
                return found
    if named:
        return ""
    return next(filter(None, map(system_library, _NAMES)), "")


def _prefixes() -> Iterator[str]:
    """Yield the folders for libraries of this Python and its user."""
    if sys.exec_prefix != sys.base_exec_prefix:
        yield os.path.join(sys.exec_prefix, "lib")
    if site.ENABLE_USER_SITE:
        yield os.path.join(site.getuserbase(), "lib")
    if sys.base_exec_prefix != "/usr":
        yield os.path.join(sys.base_exec_prefix, "lib")


def _existing(library: str) -> str:
    return library if os.sep in library else ""


def _programs_near(library: str) -> Iterator[str]:
    """Yield the folders in which an MPI with this library may have its programs."""
    for start in dict.fromkeys((library, os.path.realpath(library))):
        folder = os.path.dirname(os.path.abspath(start))
        for _ in range(_LEVELS):
            yield os.path.join(folder, "bin")
            folder = os.path.dirname(folder)


def _called(library: str) -> tuple[str, ...]:
    """Return what the `mpiexec` of a library may be called; Debian has one of each MPI."""
    family = _family(library)
    return (USUAL, f"{USUAL}.{family}") if family else (USUAL,)


def _may_fit(mpiexec: str, library: str) -> bool:
    """Tell whether nothing says that a program and a library belong to different MPIs."""
    return "" in (ours := (_family(mpiexec), _family(library))) or ours[0] == ours[1]


def _family(path: str) -> str:
    """Return which MPI a program or library belongs to, by the name that it really has.

    >>> _family("/usr/lib/libmpi.so.40"), _family("/opt/bin/mpiexec.hydra"), _family("/bin/mpiexec")
    ('openmpi', 'mpich', '')
    """
    names = (os.path.basename(one) for one in (os.path.realpath(path), path))
    return next((key for one in names for key, has in _FAMILIES.items() if has.search(one)), "")


def _first(name: str, path: str) -> str:
    """Return the first program of a name on a search path, or ""."""
    if os.sep in name:
        return name if _is_program(name) else ""
    paths = (os.path.join(folder, name) for folder in path.split(os.pathsep) if folder)
    return next(filter(_is_program, paths), "")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
