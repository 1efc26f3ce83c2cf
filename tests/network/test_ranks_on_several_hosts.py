"""A cluster whose ranks are on two hosts that lose each other: one of the two is given up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from benchmarks.grid import SSH, EmulatedGrid, Layout, missing
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

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
            f'<mpi ranks="3" command-path={mpiexec} options="-launcher ssh -launcher-exec {SSH}"/>'
            '<nodes hosts="c1 c2 c3" slots="2"/></cluster></site></grid></deployment>'
        )
        run = grid.popen(
            "c0",
            [*COMMAND, "--quiet", "grid.xml"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=str(tmp_path),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert run.stdout is not None
        begun = _told(run.stdout.readline())
        assert [host for host, _ in begun] == ["c1", "c1", "c2"]
        grid.cut("c1", "c2")
        output, said = run.communicate(timeout=120)
        assert not os.path.exists(f"/proc/{begun[2][1]}")
    assert [host for host, _ in _told(output)] == at_the_end, said
    assert run.returncode == 0, said


def _told(line: str) -> list[tuple[str, str]]:
    """Return host and process of each rank."""
    return [(host, pid) for host, _, pid in (word.partition(":") for word in line.split()[1:])]
