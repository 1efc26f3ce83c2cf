"""C programs of Open MPI, beside those of MPICH in one world: one program, compiled for each."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import gcm_deploy
from tests.mpi_homes import open_mpi, open_mpi_4  # noqa: F401 - fixtures

SOURCES = Path(__file__).parents[2] / "tests" / "c"
BIN = Path(sys.prefix) / "bin"

pytestmark = pytest.mark.mpi

GRID = """<deployment name="mixed"><grid>
  <site name="one"><cluster name="mpich"><mpi ranks="2" command-path="{mpich}/mpiexec"/></cluster>
  </site>
  <site name="two"><cluster name="openmpi">
    <front-end python="{other}/python"/><mpi ranks="2" command-path="{other}/mpiexec"/></cluster>
  </site></grid>
  <application executable="./{{cluster}}/{name}" {more}/>
</deployment>
"""
TWO_OF_ONE = GRID.replace("{mpich}/mpiexec", "{other}/mpiexec").replace(
    '<cluster name="mpich">', '<cluster name="mpich"><front-end python="{other}/python"/>'
)


@pytest.fixture(params=["open_mpi", "open_mpi_4"])
def other(request: pytest.FixtureRequest) -> Path:
    """Return the folder with the Python and the compiler of an Open MPI of either kind."""
    if shutil.which("gcc") is None or not (BIN / "mpicc").exists():
        pytest.skip("gcc and the wheel of MPICH, which has mpicc and headers, are needed")
    found: Path = request.getfixturevalue(request.param)
    return found


def compiled(folder: Path, name: str, cluster: str, compiler: Path) -> None:
    (folder / cluster).mkdir(exist_ok=True)
    command = [str(compiler), "-w", "-g", "-o", f"{cluster}/{name}", str(SOURCES / f"{name}.c")]
    subprocess.run(command, check=True, timeout=120, cwd=folder)


def prints_over_both_what_it_prints_natively(folder: Path, name: str, other: Path) -> str:
    """Run a program over a cluster of either MPI; return what it said to stderr."""
    compiled(folder, name, "mpich", BIN / "mpicc")
    compiled(folder, name, "openmpi", other / "mpicc")
    native = subprocess.run(
        [str(BIN / "mpiexec"), "-n", "4", f"mpich/{name}"],
        check=True, capture_output=True, text=True, timeout=120, cwd=folder,
    )  # fmt: skip
    (folder / "mixed.xml").write_text(GRID.format(mpich=BIN, other=other, name=name, more=""))
    done = gcm_deploy("mixed.xml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(native.stdout.splitlines())
    return done.stderr


def test_one_program_compiled_for_mpich_and_for_open_mpi_has_one_world(
    other: Path, tmp_path: Path
) -> None:
    for name in ("messages", "collectives", "communicators", "neighbours", "files"):
        assert not prints_over_both_what_it_prints_natively(tmp_path, name, other)


def test_windows_of_a_program_are_of_mpich_and_of_open_mpi(
    open_mpi: Path,  # noqa: F811 - the fixture; the older one makes none where there are threads
    tmp_path: Path,
) -> None:
    prints_over_both_what_it_prints_natively(tmp_path, "windows", open_mpi)


def test_a_program_of_another_mpi_than_that_of_its_cluster_is_refused_with_both_named(
    open_mpi: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    for cluster in ("mpich", "openmpi"):
        compiled(tmp_path, "messages", cluster, BIN / "mpicc")
    text = GRID.format(mpich=BIN, other=open_mpi, name="messages", more="")
    (tmp_path / "mixed.xml").write_text(text)
    done = gcm_deploy("mixed.xml", cwd=tmp_path)
    assert done.returncode != 0
    assert "it is built for another MPI (libmpi.so.12) than the one that its cluster" in done.stderr
    assert "is that of Open MPI). Build it with this mpicc" in done.stderr

    compiled(tmp_path, "messages", "openmpi", open_mpi / "mpicc")
    done = gcm_deploy("--emulate", "1x1x2", "./openmpi/messages", cwd=tmp_path)
    assert done.returncode != 0, "each rank would be a world of its own"
    assert "it is built for another MPI (libmpi.so.40) than the one that its cluster" in done.stderr


def test_a_c_program_of_open_mpi_survives_the_loss_of_a_rank_with_its_own_constants(
    open_mpi: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    for cluster in ("mpich", "openmpi"):
        compiled(tmp_path, "losses", cluster, open_mpi / "mpicc")
    more = 'failures="return"'
    (tmp_path / "two.xml").write_text(TWO_OF_ONE.format(other=open_mpi, name="losses", more=more))
    done = gcm_deploy("two.xml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [done.stdout.count(one) for one in ("receive: failed", "revoked: revoked")] == [3, 3]
    assert done.stdout.count("left: 3") == 3
