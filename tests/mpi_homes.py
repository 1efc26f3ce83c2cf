"""Environments with an MPI and the mpi4py that goes with it, installed where there are none."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.native_mpi import KNOWN, MPICH, OPEN_MPI, NativeMpi


@dataclass(frozen=True)
class MpiHome:
    """One environment, its packages from wheels."""

    native: NativeMpi
    mpiexec: str
    python: str


@pytest.fixture(scope="session")
def mpi_homes() -> dict[str, MpiHome | str]:
    """All MPIs by name, or why one is missing; kept between runs beside other temporary files."""
    return {native.name: find_mpi(native) for native in KNOWN}


@pytest.fixture(scope="session")
def open_mpi() -> Path:
    """The folder with the Python and the `mpiexec` of an Open MPI."""
    home = find_mpi(OPEN_MPI)
    if isinstance(home, str):
        pytest.skip(home)
    return Path(home.mpiexec).parent


def find_mpi(native: NativeMpi) -> MpiHome | str:
    """Return an MPI, which is installed if need be; or why that cannot be."""
    beside = Path(sys.executable).parent / "mpiexec"
    if native is MPICH and beside.exists():
        return MpiHome(native, str(beside), sys.executable)
    version = "{}.{}".format(*sys.version_info)
    home = Path(tempfile.gettempdir(), f"gcm-test-mpi-{os.getuid()}", f"{native.name}-{version}")
    home.parent.mkdir(exist_ok=True)
    with Path(f"{home}.lock").open("w") as lock:  # tests run beside each other
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _installed(native, home)


def _installed(native: NativeMpi, home: Path) -> MpiHome | str:
    python, mark = home / "bin" / "python", home / "complete"
    if not mark.exists():
        install = [str(python), "-m", "pip", "install", "-q", "mpi4py", native.name]
        for command in ([sys.executable, "-m", "venv", "--clear", str(home)], install):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode != 0:
                return f"pip cannot install {native.name}: {done.stderr.strip().splitlines()[-1:]}"
        if not (home / "bin" / "mpiexec").exists():
            return f"the package {native.name} that pip installs has no mpiexec"
        mark.touch()
    return MpiHome(native, str(home / "bin" / "mpiexec"), str(python))
