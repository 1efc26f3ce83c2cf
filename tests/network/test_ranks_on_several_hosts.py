"""A cluster whose ranks are on two hosts, which are one native MPI world and lose each other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from benchmarks.grid import SSH, EmulatedGrid, Layout, missing
from runtime.launchers.family import descendants, processes
from runtime.native_mpi import MPICH, OPEN_MPI
from tests.leftovers import await_end
from tests.mpi_homes import OPEN_MPI_4, MpiHome, find_mpi
from tests.security.test_strangers_at_a_run import listening
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

WORLDS = """
import os
from mpi4py import MPI

own, world = MPI.COMM_CLUSTER, MPI.COMM_WORLD
library = MPI.Get_library_version().partition(" ")[0]
total = own.allreduce(own.rank)
row = own.rank, own.size, total, os.uname().nodename, os.environ["WORD"], library
for row in world.gather(row) or ():
    print(*row, flush=True)
"""
HEAD = """
import os, time
from mpi4py import MPI

world = MPI.COMM_WORLD

def tell(word, comm):
    found = comm.gather((os.uname().nodename, os.getpid()))
    if comm.rank == 0:
        print(word, *(f"{host}:{pid}" for host, pid in found), flush=True)
"""
SMALLER = f"""{HEAD}
tell("begun", world)
try:
    while True:
        world.barrier()
        time.sleep(0.01)
except MPI.Exception:
    world.Revoke()
    tell("ended", world.Shrink())
"""
REBUILT = f"""{HEAD}
comm = world
if comm.Get_attr(MPI.FT_INCARNATION) == 1:
    tell("begun", comm)
    try:
        while True:
            comm.barrier()
            time.sleep(0.01)
    except MPI.Exception:
        pass
tell("ended", comm.Dup())
"""


WAITING = """
import os
import time
from mpi4py import MPI
print(MPI.Get_processor_name(), os.getpid(), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("name", "over_ssh", "library"),
    [
        (MPICH.name, "", "MPICH"),
        (MPICH.name, f"-launcher ssh -launcher-exec {SSH}", "MPICH"),
        (OPEN_MPI.name, f"--prtemca plm_ssh_agent {SSH}", "Open"),
        (OPEN_MPI_4, f"--mca plm_rsh_agent {SSH}", "Open"),
    ],
    ids=["mpich", "the mpiexec of mpich", "openmpi", "openmpi-4"],
)
def test_all_hosts_of_a_cluster_are_one_world_of_its_native_mpi(
    tmp_path: Path, name: str, over_ssh: str, library: str
) -> None:
    """Its ranks are where the plan has them, with the environment of the descriptor."""
    home = find_mpi(name)
    if lacking := missing() or (home if isinstance(home, str) else ""):
        pytest.skip(lacking)
    assert isinstance(home, MpiHome)
    (tmp_path / "program.py").write_text(WORLDS)
    with EmulatedGrid(Layout((3,))) as grid:
        address = grid.clusters["c0"].address
        (tmp_path / "grid.xml").write_text(
            '<deployment name="t"><application script="program.py">'
            '<environment name="WORD" value="one two"/></application><grid><site><cluster>'
            f'<front-end python={quoteattr(home.python)} address="{address}"/>'
            f'<mpi ranks="3" command-path={quoteattr(home.mpiexec)} options="{over_ssh}"/>'
            '<nodes hosts="c1 c2" slots="2"/></cluster><cluster><mpi ranks="1" command-path='
            f"{quoteattr(str(Path(sys.executable).with_name('mpiexec')))}/>"
            "</cluster></site></grid></deployment>"
        )
        run = _started(grid, tmp_path)
        output, said = run.communicate(timeout=120)
    assert run.returncode == 0, said
    *of_hosts, alone = [line.split() for line in output.splitlines()]
    assert of_hosts == [
        ["0", "3", "3", "c1", "one", "two", library],
        ["1", "3", "3", "c1", "one", "two", library],
        ["2", "3", "3", "c2", "one", "two", library],
    ]
    assert alone == ["0", "1", "0", "c0", "one", "two", "MPICH"]


@pytest.mark.parametrize(
    ("program", "recovery", "at_the_end"),
    [(SMALLER, "", ["c1", "c1"]), (REBUILT, "rebuild", ["c1", "c1", "c3"])],
    ids=["smaller", "rebuilt"],
)
def test_hosts_of_one_cluster_that_are_cut_off_from_each_other_do_not_both_go_on(
    tmp_path: Path, program: str, recovery: str, at_the_end: list[str]
) -> None:
    """Their front-end reaches both; who is started again is on a spare host."""
    if lacking := missing():
        pytest.skip(lacking)
    (tmp_path / "program.py").write_text(program)
    mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
    mode = f'recovery="{recovery}"' if recovery else ""
    with EmulatedGrid(Layout((4,))) as grid:
        (tmp_path / "grid.xml").write_text(
            '<deployment name="t"><application script="program.py" comm-world="grid" '
            f'failures="return" {mode}/><grid><site><cluster>'
            f'<front-end address="{grid.clusters["c0"].address}"/>'
            f'<mpi ranks="3" command-path={mpiexec}/>'
            '<nodes hosts="c1 c2 c3" slots="2"/></cluster></site></grid></deployment>'
        )
        run = _started(grid, tmp_path)
        assert run.stdout is not None
        begun = _told(run.stdout.readline())
        assert [host for host, _ in begun] == ["c1", "c1", "c2"]
        grid.cut("c1", "c2")
        output, said = run.communicate(timeout=120)
        assert not os.path.exists(f"/proc/{begun[2][1]}")
    assert [host for host, _ in _told(output)] == at_the_end, said
    assert run.returncode == 0, said


def test_a_host_of_ranks_that_does_not_answer_is_lost_without_any_detector(tmp_path: Path) -> None:
    """Its ranks notice that, too, and end."""
    if lacking := missing():
        pytest.skip(lacking)
    (tmp_path / "program.py").write_text(WAITING)
    mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
    with EmulatedGrid(Layout((3,))) as grid:
        (tmp_path / "grid.xml").write_text(
            '<deployment name="t"><application script="program.py"/><grid><site><cluster>'
            f'<front-end address="{grid.clusters["c0"].address}"/>'
            f'<mpi ranks="2" command-path={mpiexec}/>'
            '<nodes hosts="c1 c2" slots="1"/></cluster></site></grid></deployment>'
        )
        run = _started(grid, tmp_path)
        assert run.stdout is not None
        pids = dict(run.stdout.readline().split() for _ in range(2))
        for host in ("c0", "c1"):
            grid.cut(host, "c2")
        _, said = run.communicate(timeout=60)
        assert run.returncode == 204, said
        first = said.partition("\n")[0].replace(" failed first: ", " failed: ")
        assert first == (
            f"gcm-deploy: rank 1 on c2 (process {pids['c2']}) failed: was lost: its host has not "
            "answered for 20 s"
        )
        await_end(int(pids["c2"]), time.monotonic() + 30)
        assert not os.path.exists(f"/proc/{pids['c2']}")


def test_nothing_but_ranks_listens_while_those_of_an_mpich_are_on_several_hosts(
    tmp_path: Path,
) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    (tmp_path / "program.py").write_text(WAITING)
    mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
    with EmulatedGrid(Layout((3,))) as grid:
        (tmp_path / "grid.xml").write_text(
            '<deployment name="t"><application script="program.py"/><grid><site><cluster>'
            f'<front-end address="{grid.clusters["c0"].address}"/>'
            f'<mpi ranks="2" command-path={mpiexec}/>'
            '<nodes hosts="c1 c2" slots="1"/></cluster></site></grid></deployment>'
        )
        run = _started(grid, tmp_path)
        assert run.stdout is not None
        ranks = {int(run.stdout.readline().split()[1]) for _ in range(2)}
        others = descendants({run.pid}, processes()) - ranks
        found = {
            (Path(f"/proc/{pid}/comm").read_text().strip(), address)
            for pid in others
            for _, address in listening(pid)
            if not address.startswith("unix:")
        }
        run.terminate()
        run.communicate(timeout=60)
    assert found == set()
    assert run.returncode == 143


def _started(grid: EmulatedGrid, folder: Path) -> subprocess.Popen[str]:
    """Type the command on the first host."""
    return grid.popen(
        "c0",
        [*COMMAND, "--quiet", "grid.xml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=str(folder),
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PATH": f"{Path(SSH).parent}:{os.environ['PATH']}",
        },
    )


def _told(line: str) -> list[tuple[str, str]]:
    """Return host and process of each rank."""
    return [(host, pid) for host, _, pid in (word.partition(":") for word in line.split()[1:])]
