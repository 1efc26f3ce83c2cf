"""A host whose Python has neither mpi4py nor this package, over a real sshd, with modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.deploy.conftest import Start
from tests.sshd import Sshd

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

PROGRAM = """\
import mpi4py, os
from mpi4py import MPI
world = MPI.COMM_WORLD
found = world.allgather((mpi4py.__file__, os.environ["PREPARED"]))
if world.rank == 0:
    print(len(found), *found[1])
"""


def test_mpi4py_is_brought_along(start: Start, far_host: Sshd | None, tmp_path: Path) -> None:
    assert far_host is not None
    there = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", there], check=True)
    library = Path(sys.executable).parents[1] / "lib"
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "bare.xml").write_text(
        f"""<deployment><application script="program.py"/><grid><site><cluster>{far_host.hop}
        <front-end python="{there}/bin/python"
          before="export PREPARED=yes LD_LIBRARY_PATH={library}"/>
        <mpi ranks="2" command-path="{Path(sys.executable).with_name("mpiexec")}"/>
        </cluster></site></grid></deployment>"""
    )
    run = start("--quiet", tmp_path / "bare.xml")
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    count, file, prepared = output.split()
    assert (count, prepared) == ("2", "yes")
    assert "/packages/mpi4py/" in file
