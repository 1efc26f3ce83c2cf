"""Hosts that are lost with their ranks, which return on spare ones, until none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from benchmarks.grid import SSH, EmulatedGrid, Layout, missing
from benchmarks.grid.sweeping import inside, sweep
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PROGRAM = """
import os, signal, sys, time
from mpi4py import MPI

comm = MPI.COMM_WORLD
is_whole = comm.Get_attr(MPI.FT_INCARNATION) == 1
steps = wrong = 0
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(1))

def tell(word):
    found = comm.gather((os.uname().nodename, os.getpid()))
    if comm.rank == 0:
        print(word, *(f"{host}:{pid}" for host, pid in found), flush=True)

if is_whole:
    tell("begun")
while True:
    try:
        if not is_whole:
            try:
                comm = comm.Dup()
            except MPI.Exception as error:
                if "spare host" not in str(error):
                    raise
                comm = comm.Shrink()
                if comm.rank == 0:
                    print(*str(error).splitlines(), sep=" / ", flush=True)
            steps, wrong = max(comm.allgather((steps, wrong)))
            tell("whole")
            is_whole = True
        if comm.bcast(os.path.exists("enough")):
            break
        wrong += comm.allreduce(comm.rank) != comm.size * (comm.size - 1) // 2
        steps += 1
        time.sleep(0.01)
    except MPI.Exception:
        is_whole = False
if comm.rank == 0:
    print("steps" if steps else "no step", "with", wrong, "wrong results", flush=True)
"""


class Run:
    """A run in an emulated grid, whose launcher is on c0, and what it prints."""

    def __init__(self, grid: EmulatedGrid, process: subprocess.Popen[str], folder: Path) -> None:
        self.grid = grid
        self._process = process
        self._folder = folder

    def line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.communicate()[1]
        return line.rstrip("\n")

    def processes(self, word: str) -> list[tuple[str, int]]:
        """Return host and process of each rank, which are told with a word."""
        told, *ranks = self.line().split()
        assert told == word
        return [(host, int(pid)) for host, _, pid in (one.partition(":") for one in ranks)]

    def hosts(self, word: str) -> list[str]:
        return [host for host, _ in self.processes(word)]

    def lose(self, host: str) -> None:
        """End every process on a host."""
        sweep([self.grid.holder(host)])

    def end(self, code: int = 0) -> str:
        """Let the program end with a code; return what it printed, once nothing is left of it."""
        (self._folder / "enough").touch()
        output, said = self._process.communicate(timeout=60)
        assert self._process.returncode == code, said
        for name in self.grid.clusters:
            holder = self.grid.holder(name)
            assert list(inside([holder])) == []
        return output


@contextmanager
def running(folder: Path, hosts: int, clusters: str) -> Iterator[Run]:
    """Run the program on clusters whose `mpiexec` reaches all hosts from c0."""
    if lacking := missing():
        pytest.skip(lacking)
    (folder / "program.py").write_text(PROGRAM)
    mpiexec = quoteattr(str(Path(sys.executable).with_name("mpiexec")))
    with EmulatedGrid(Layout((hosts,))) as grid:
        address = f'<front-end address="{grid.clusters["c0"].address}"/>'
        (folder / "grid.xml").write_text(
            '<deployment name="t"><application script="program.py" recovery="rebuild"/><grid>'
            f'<mpi command-path={mpiexec} options="-launcher ssh -launcher-exec {SSH}"/>'
            f"<site>{clusters.format(front_end=address)}</site></grid></deployment>"
        )
        process = grid.popen(
            "c0",
            [*COMMAND, "--quiet", "grid.xml"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=str(folder),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        try:
            yield Run(grid, process, folder)
        finally:
            grid.clear()
            process.communicate()


def test_a_rank_returns_on_its_own_host_and_those_of_a_lost_host_on_a_spare_one(
    tmp_path: Path,
) -> None:
    cluster = '<cluster>{front_end}<mpi ranks="2"/><nodes hosts="c[1-4]"/></cluster>'
    with running(tmp_path, 5, cluster) as run:
        begun = run.processes("begun")
        assert [host for host, _ in begun] == ["c1", "c2"]
        os.kill(begun[1][1], signal.SIGKILL)
        assert run.hosts("whole") == ["c1", "c2"]
        run.lose("c2")
        assert run.hosts("whole") == ["c1", "c3"]
        run.lose("c1")
        assert run.hosts("whole") == ["c4", "c3"]
        run.lose("c3")
        error = run.line()
        assert error.startswith("rank 1: 3 attempts to restart it have failed")
        assert "could not be started again: its host c3 is lost" in error
        assert ": c3 is lost, c4 is full. " in error
        assert run.hosts("whole") == ["c4"]
        assert run.end() == "steps with 0 wrong results\n"


def test_a_rank_that_ends_by_its_own_word_returns_on_its_host(tmp_path: Path) -> None:
    cluster = '<cluster>{front_end}<mpi ranks="2"/><nodes hosts="c[1-3]"/></cluster>'
    with running(tmp_path, 4, cluster) as run:
        (_, first), (_, second) = run.processes("begun")
        for process in (first, second):
            os.kill(process, signal.SIGUSR1)
            assert run.hosts("whole") == ["c1", "c2"]
        assert run.end(code=1) == "steps with 0 wrong results\n"


def test_a_spare_host_that_does_not_work_is_passed_over(tmp_path: Path) -> None:
    """All ranks of a cluster are lost at once; those of another one go on meanwhile."""
    clusters = (
        '<cluster>{front_end}<mpi ranks="1"/></cluster>'
        '<cluster>{front_end}<nodes hosts="c1" slots="2"/>'
        '<nodes hosts="c[2-3]" spare="yes"/></cluster>'
    )
    with running(tmp_path, 4, clusters) as run:
        assert run.hosts("begun") == ["c0", "c1", "c1"]
        down = "for one in $(ls /sys/class/net); do ip link set $one down; done"
        assert run.grid.run("c2", ["sh", "-c", down], timeout=20).returncode == 0
        run.lose("c1")
        assert run.hosts("whole") == ["c0", "c3", "c3"]
        assert run.end() == "steps with 0 wrong results\n"
