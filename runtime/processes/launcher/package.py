"""Bringing this package along to a Python that does not have it, or has another version of it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gcm.records import dataclass
from runtime.home import HOME
from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import CommandNotFound, LaunchError, PythonMissing
from runtime.launchers.lines import Collected
from runtime.launchers.packages import stage_packages
from runtime.processes.launcher.mpi_wheel import PLATFORM, BroughtMpi, Platform, bring_mpi

PACKAGES = ("gcm", "runtime")
FOLDER = "packages"
"""Where the package is in a run directory."""

_HOME = Path(HOME)
PROBE_TIMEOUT = 60.0

MPI4PY = "mpi4py"

# Run by the Python in question: tells where it looks for modules besides its own folders, how its
# machine code is called and what it depends on, whether it has mpi4py, and the digest of the
# package that it would import.
_PROBE = """
import hashlib, importlib.machinery, importlib.util, os, sys
print(os.environ.get("PYTHONPATH", "").encode(errors="surrogateescape").hex())
print(importlib.machinery.EXTENSION_SUFFIXES[0])
{platform}
print("" if importlib.util.find_spec("mpi4py") is None else "mpi4py")
digest = hashlib.sha256()
for name in {packages!r}:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        break
    home = os.path.dirname(found.submodule_search_locations[0])
    names = []
    for folder, _, files in os.walk(os.path.join(home, name)):
        known = [one for one in files if one.endswith((".py", ".pyi", ".xsd"))]
        names += [os.path.join(folder, one) for one in known]
    for path in sorted(names):
        digest.update(os.path.relpath(path, home).encode())
        digest.update(open(path, "rb").read())
else:
    print(digest.hexdigest())
"""


@cache
def digest() -> str:
    """Return what tells this version of the package from every other."""
    total = hashlib.sha256()
    for name in PACKAGES:
        for path in sorted(str(path) for path in _files(name)):
            total.update(str(Path(path).relative_to(_HOME)).encode())
            total.update(Path(path).read_bytes())
    return total.hexdigest()


@dataclass(frozen=True, slots=True)
class PythonThere:
    """What a Python at a place has: this version of the package or not, and its PYTHONPATH.

    `suffix` is how the names of its extension modules end.
    """

    has_package: bool
    search: str
    suffix: str
    platform: Platform
    has_mpi4py: bool

    def missing(self, *, brings_mpi: bool = False) -> tuple[str, ...]:
        """Return the packages that have to be brought along; one that `brings_mpi` its mpi4py, too.

        mpi4py is machine code, which fits only a Python of the same version on the same kind of
        machine. Its wheel is for MPICH and Open MPI, whichever is found there.
        """
        own = () if self.has_package else PACKAGES
        is_missing = (brings_mpi or not self.has_mpi4py) and self.suffix in _mpi4py_suffixes()
        return (*own, MPI4PY) if is_missing else own


def _mpi4py_suffixes() -> set[str]:
    """Return how the extension modules of the mpi4py of this Python end, if it has them."""
    found = importlib.util.find_spec(MPI4PY)
    folders = [] if found is None else found.submodule_search_locations or []
    names = [one.name for folder in folders for one in Path(folder).glob("MPI.*.so")]
    return {f".{'.'.join(name.split('.')[-2:])}" for name in names}


def python_at(launcher: Launcher, python: str) -> PythonThere:
    """Return what a Python at a place has; raises LaunchError."""
    printed = Collected()
    probe = _PROBE.format(packages=PACKAGES, platform=PLATFORM)
    process = launcher.start(Command((python, "-c", probe)), printed)
    process.close_input()
    try:
        ended = process.wait(PROBE_TIMEOUT)
    except CommandNotFound as fault:
        raise PythonMissing(
            f"there is no {python!r}",
            place=launcher.place,
            cause=fault.what,
            cure="Name the Python there: --python PATH, in a descriptor <front-end python=...>",
        ) from fault
    if not ended.ok:
        raise LaunchError(
            f"{python!r} cannot run a small program ({ended})",
            place=launcher.place,
            cause="\n".join(process.tail),
            cure="Name another Python, 3.11 or newer: --python PATH, in a descriptor <front-end"
            " python=...>",
        )
    lines = [*map(str.strip, printed.output.split("\n")), *[""] * 5]
    path, suffix, platform, has_mpi4py, found = lines[:5]
    try:
        known = os.fsdecode(bytes.fromhex(path))
    except ValueError:  # a wrapper around that Python prints something of its own
        known = ""
    has = found == digest(), known, suffix, Platform.parse(platform), bool(has_mpi4py)
    return PythonThere(*has)


def bring(
    launcher: Launcher, python: str, run_directory: str, names: Sequence[str] = PACKAGES
) -> str:
    """Stage packages into a run directory; return what to put on the Python path.

    Raises StagingFailed.
    """
    stage_packages(launcher, python, names, f"{run_directory}/{FOLDER}")
    return f"{run_directory}/{FOLDER}"


def bring_mpi_to_try(launcher: Launcher, python: str, distribution: str, folder: str) -> BroughtMpi:
    """Stage an MPI and its mpi4py into a folder; its ranks find both. Raises LaunchError."""
    there = python_at(launcher, python)
    mpi = bring_mpi(launcher, distribution, there.platform, folder)
    if MPI4PY not in there.missing(brings_mpi=True):
        return mpi
    search = bring(launcher, python, folder, [MPI4PY])
    return BroughtMpi(mpi.mpiexec, {**mpi.environment, "PYTHONPATH": search})


def _files(name: str) -> list[Path]:
    return [path for path in (_HOME / name).rglob("*") if path.suffix in (".py", ".pyi", ".xsd")]
