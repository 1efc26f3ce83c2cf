"""Which `mpiexec` starts ranks where there are several, and what the doctor says of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runtime.deployment.planning import preparation
from runtime.launchers import mpiexec_choice
from runtime.testing.sshd import Sshd
from tests.commands import gcm_deploy
from tests.far_host import far_host  # noqa: F401 - a fixture
from tests.mpi_homes import open_mpi  # noqa: F401 - a fixture

pytestmark = pytest.mark.mpi

PROGRAM = """\
import os
from mpi4py import MPI
words = MPI.Get_library_version().split()[:2]
print(*words, "of", MPI.COMM_WORLD.size, [one for one in os.environ if one == "GCM_PREPARED_PATH"])
"""
RECORDING = """\
#!/bin/sh
printf '%s\\n' "$1" >> {file}
exec {mpiexec} "$@"
"""


def test_the_mpiexec_of_the_library_that_mpi4py_loads_comes_before_the_path(
    tmp_path: Path,
    open_mpi: Path,  # noqa: F811 - the fixture
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    library = open_mpi.parent / "lib" / "libmpi.so.40"
    loaded = str(library)
    done = gcm_deploy("--quiet", "-n", "2", "program.py", cwd=tmp_path, MPI4PY_LIBMPI=loaded)
    assert (done.returncode, done.stdout) == (0, "Open MPI of 2 []\n" * 2), done.stderr
    doctor = gcm_deploy("doctor", cwd=tmp_path, MPI4PY_LIBMPI=loaded).stdout
    assert f"{open_mpi}/mpiexec" in doctor
    assert f"that of the MPI that mpi4py loads, {library}" in doctor


@pytest.mark.needs_sshd
def test_what_modules_and_the_line_of_shell_bring_comes_before_that(
    tmp_path: Path,
    far_host: Sshd | None,  # noqa: F811 - the fixture
) -> None:
    assert far_host is not None
    (tmp_path / "program.py").write_text(PROGRAM)
    mpiexec = tmp_path / "module" / "bin" / "mpiexec"
    mpiexec.parent.mkdir(parents=True)
    own = Path(sys.executable).with_name("mpiexec")
    mpiexec.write_text(RECORDING.format(file=tmp_path / "used", mpiexec=own))
    mpiexec.chmod(0o755)
    front_end = f'<front-end python="{sys.executable}" before="PATH={mpiexec.parent}:$PATH"/>'
    (tmp_path / "grid.xml").write_text(
        '<deployment><application script="program.py"/><grid><site name="s">'
        f'<cluster name="c">{far_host.hop}{front_end}<mpi ranks="2"/></cluster>'
        "</site></grid></deployment>"
    )
    done = gcm_deploy("--quiet", "grid.xml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "MPICH Version: of 2 []\n" * 2), done.stderr
    assert (tmp_path / "used").read_text().split() == ["--version", "-n"]
    doctor = gcm_deploy("doctor", "grid.xml", cwd=tmp_path).stdout
    assert str(mpiexec) in doctor
    assert "brought by modules or before" in doctor


def test_a_program_that_travels_knows_the_variable_by_its_name() -> None:
    assert mpiexec_choice.PREPARED_PATH == preparation.PREPARED_PATH
