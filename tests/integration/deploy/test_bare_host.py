"""A host whose Python has no mpi4py, no MPI, and not this package, over a real sshd."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.testing.sshd import SSHD, Sshd, running_sshd
from tests.integration.deploy.conftest import Start

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

PROGRAM = """\
import mpi4py, os
from mpi4py import MPI
world = MPI.COMM_WORLD
found = world.allgather((mpi4py.__file__, os.environ["PREPARED"]))
if world.rank == 0:
    print(len(found), *found[1])
"""


# Tells of each rank where it is, and which MPI it has loaded.
WHERE = """\
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
with open("/proc/self/maps") as maps:
    library = next(one.split()[-1] for one in maps if "libmpi.so" in one)
total = world.allreduce(world.rank)
found = world.gather(("far" if "SSH_CONNECTION" in os.environ else "here", library))
if world.rank == 0:
    print(total)
    for one in found:
        print(*one)
"""
PROGRAMS = ("bash", "sh", "env", "cat", "ls", "uname")


def bare_python(folder: Path) -> Path:
    there = folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", there], check=True)
    return there


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Sshd]:
    """A host with a Python in `bare`, and no MPI on its path."""
    programs, sshd = tmp_path / "programs", tmp_path / "sshd"
    for folder in (programs, sshd):
        folder.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or name)
    bare_python(tmp_path)
    with running_sshd(sshd, program=SSHD, PATH=programs) as server:
        yield server


def described(folder: Path, host: Sshd, mpi: str, *, beside: str = "") -> Path:
    (folder / "program.py").write_text(WHERE)
    path = folder / "bare.xml"
    path.write_text(
        f"""<deployment><application script="program.py"/><grid><site><cluster>{host.hop}
        <front-end python="{folder}/bare/bin/python"/><mpi ranks="2" {mpi}/>
        </cluster>{beside}</site></grid></deployment>"""
    )
    return path


def test_the_mpich_wheel_is_brought_to_a_host_with_python_alone(
    start: Start, bare: Sshd, tmp_path: Path
) -> None:
    beside = '<cluster><mpi ranks="1"/></cluster>'
    path = described(tmp_path, bare, 'flavour="mpich-wheel"', beside=beside)
    run = start("--quiet", path)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    total, *ranks = output.splitlines()
    assert (total, len(ranks)) == ("3", 3)
    assert ranks[0] == ranks[1]
    (far, brought), (here, own) = ranks[0].split(), ranks[2].split()
    assert (far, here) == ("far", "here")
    assert "/mpi/lib/libmpi.so." in brought
    assert "/mpi/lib/" not in own


def test_the_doctor_says_how_to_bring_an_mpi_and_tries_it(
    start: Start, bare: Sshd, tmp_path: Path
) -> None:
    found = []
    for mpi in ("", 'flavour="mpich-wheel"'):
        examined = start("doctor", "--format", "json", described(tmp_path, bare, mpi))
        output, errors = examined.communicate(timeout=60)
        assert output, errors
        known = {one["code"]: one["fix"] for one in json.loads(output)["findings"]}
        found.append({code: fix for code, fix in known.items() if "mpi" in code})
    without, asked = found
    assert '<mpi flavour="mpich-wheel"/>' in without["no-mpiexec"]
    assert asked == {}


def test_a_run_without_any_mpi_names_the_wheel(start: Start, bare: Sshd, tmp_path: Path) -> None:
    run = start(described(tmp_path, bare, ""))
    _, errors = run.communicate(timeout=60)
    assert run.returncode != 0
    assert "there is no 'mpiexec'" in errors
    assert "<mpi flavour='mpich-wheel'/>" in " ".join(errors.split())


def test_mpi4py_is_brought_along(start: Start, far_host: Sshd | None, tmp_path: Path) -> None:
    assert far_host is not None
    there = bare_python(tmp_path)
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
