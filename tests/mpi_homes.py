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

from runtime.launchers.mpiexec import MpiexecFlavour


@dataclass(frozen=True)
class MpiHome:
    """One environment, its packages from wheels."""

    flavour: MpiexecFlavour
    mpiexec: str
    python: str


@pytest.fixture(scope="session")
def mpi_homes() -> dict[MpiexecFlavour, MpiHome | str]:
    """Both MPIs, or why one is missing; kept between runs beside other temporary files."""
    return {flavour: find_mpi(flavour) for flavour in MpiexecFlavour}


@pytest.fixture(scope="session")
def open_mpi() -> Path:
    """The folder with the Python and the `mpiexec` of an Open MPI."""
    home = find_mpi(MpiexecFlavour.OPEN_MPI)
    if isinstance(home, str):
        pytest.skip(home)
    return Path(home.mpiexec).parent


def find_mpi(flavour: MpiexecFlavour) -> MpiHome | str:
    """Return an MPI, which is installed if need be; or why that cannot be."""
    beside = Path(sys.executable).parent / "mpiexec"
    if flavour is MpiexecFlavour.MPICH and beside.exists():
        return MpiHome(flavour, str(beside), sys.executable)
    version = "{}.{}".format(*sys.version_info)
    home = Path(tempfile.gettempdir(), f"gcm-test-mpi-{os.getuid()}", f"{flavour}-{version}")
    home.parent.mkdir(exist_ok=True)
    with Path(f"{home}.lock").open("w") as lock:  # tests run beside each other
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _installed(flavour, home)


def _installed(flavour: MpiexecFlavour, home: Path) -> MpiHome | str:
    python, mark = home / "bin" / "python", home / "complete"
    if not mark.exists():
        install = [str(python), "-m", "pip", "install", "-q", "mpi4py", str(flavour)]
        for command in ([sys.executable, "-m", "venv", "--clear", str(home)], install):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode != 0:
                return f"pip cannot install {flavour}: {done.stderr.strip().splitlines()[-1:]}"
        mark.touch()
    return MpiHome(flavour, str(home / "bin" / "mpiexec"), str(python))
