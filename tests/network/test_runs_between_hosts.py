"""Whole runs over networks in which connections between ranks are reset, and ranks die."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid, Layout, Line, cluster_element, missing
from runtime.wire.connection_life import CALLED_TIMEOUT
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

PORT = 7100
"""Where the front-ends forward; with `front-end` reachability nothing else can be reached."""

WAYS = ("forwarded", "called")

ROUNDS = """
import hashlib, sys
from mpi4py import MPI

comm = MPI.COMM_WORLD
other = 1 - comm.rank
received = bytearray(4 << 20)
wrong = 0
for number in range(30):
    mine, theirs = (hashlib.shake_128(b"%d %d" % (rank, number)).digest(4 << 20)
                    for rank in (comm.rank, other))
    comm.Sendrecv(mine, other, recvbuf=received, source=other)
    wrong += received != theirs
    wrong += comm.sendrecv(number, other, source=other) != number
    if number == 3 and comm.rank == 0:
        print("begun", flush=True)
if comm.rank == 0:
    print("wrong", wrong, flush=True)
"""

DEATH = """
import os, signal, time
from mpi4py import MPI

comm = MPI.COMM_WORLD
comm.sendrecv("hello", 1 - comm.rank, source=1 - comm.rank)
if comm.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
begun = time.monotonic()
try:
    comm.recv(source=1)
except Exception as error:
    print("noticed", time.monotonic() - begun, type(error).__name__, flush=True)
"""


CUT = """
import os, time
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank:
    other = 3 - comm.rank
    assert comm.sendrecv("before", other, source=other) == "before"
    if comm.rank == 1:
        print("begun", flush=True)
    while not os.path.exists("FOLDER/cut"):
        time.sleep(0.01)
    assert comm.sendrecv("behind", other, source=other) == "behind"
    if comm.rank == 1:
        print("goes on", flush=True)
"""


LAST_WORDS = """
import os, time
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 1:
    comm.recv(source=2)
    print("begun", flush=True)
    print(comm.recv(source=2), flush=True)
elif comm.rank == 2:
    comm.send("hello", 1)
    while not os.path.exists("FOLDER/cut"):
        time.sleep(0.01)
    comm.send("last words", 1)
"""


@pytest.fixture
def grid() -> Iterator[EmulatedGrid]:
    if lacking := missing():
        pytest.skip(lacking)
    with EmulatedGrid(Layout((1, 1), wan=Line(delay=0.001, rate=400e6))) as made:
        yield made


@contextmanager
def started(
    grid: EmulatedGrid, folder: Path, program: str, reachability: tuple[str, ...]
) -> Iterator[subprocess.Popen[str]]:
    """Run a program with one rank in each cluster; it finds here what stands for FOLDER."""
    (folder / "program.py").write_text(program.replace("FOLDER", str(folder)))
    sites = "".join(
        f"<site>{cluster_element(one, 1, reachability=inwards, port=PORT)}</site>"
        for one, inwards in zip(grid.clusters.values(), reachability, strict=True)
    )
    (folder / "grid.xml").write_text(
        '<deployment name="t"><application script="program.py" comm-world="grid"/>'
        f"<grid>{sites}</grid></deployment>"
    )
    process = grid.popen(
        "c0",
        [*COMMAND, "--quiet", str(folder / "grid.xml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=str(folder),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        yield process
    finally:
        grid.clear()
        process.wait(20)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


@pytest.mark.parametrize(
    "reachability",
    [("front-end", "front-end"), ("direct", "outwards")],
    ids=WAYS,
)
def test_a_run_goes_on_when_connections_between_ranks_are_reset(
    grid: EmulatedGrid, tmp_path: Path, reachability: tuple[str, str]
) -> None:
    with started(grid, tmp_path, ROUNDS, reachability) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        between = ["state", "established", f"dst {grid.layout.clusters[1].address}"]
        done = grid.run("c0", ["ss", "--kill", "--tcp", "--no-header", *between], timeout=20)
        if "not supported" in done.stderr:
            pytest.skip("the kernel cannot reset connections (CONFIG_INET_DIAG_DESTROY)")
        assert done.stdout.count("\n") >= 1, done
        output, said = run.communicate(timeout=100)
    assert output == "wrong 0\n", said
    assert run.returncode == 0, said


@pytest.mark.parametrize(
    ("reachability", "most"),
    [
        (("front-end", "front-end"), 3.0),
        (("direct", "outwards"), CALLED_TIMEOUT + 3.0),
    ],
    ids=WAYS,
)
def test_the_death_of_a_rank_is_noticed_soon(
    grid: EmulatedGrid, tmp_path: Path, reachability: tuple[str, str], most: float
) -> None:
    with started(grid, tmp_path, DEATH, reachability) as run:
        output, said = run.communicate(timeout=100)
    lines = [line for line in output.splitlines() if line.startswith("noticed")]
    assert len(lines) == 1, said
    assert float(lines[0].split()[1]) < most, said


def test_ranks_whose_line_is_cut_for_good_go_on_by_a_third_cluster(tmp_path: Path) -> None:
    """Neither of them hears of the cut; the front-end of the third cluster reaches both."""
    if lacking := missing():
        pytest.skip(lacking)
    with (
        EmulatedGrid(Layout((1, 1, 1), wan=Line(delay=0.001, rate=400e6))) as grid,
        started(grid, tmp_path, CUT, ("direct", "direct", "direct")) as run,
    ):
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        grid.cut("c1", "c2")
        (tmp_path / "cut").touch()
        output, said = run.communicate(timeout=100)
    assert output == "goes on\n", said
    assert run.returncode == 0, said


def test_the_last_words_of_a_rank_whose_line_is_cut_in_its_direction_come_by_a_third_cluster(
    tmp_path: Path,
) -> None:
    """Its own host has not got them confirmed, so it does not end before another way is found."""
    if lacking := missing():
        pytest.skip(lacking)
    with (
        EmulatedGrid(Layout((1, 1, 1), wan=Line(delay=0.001, rate=400e6))) as grid,
        started(grid, tmp_path, LAST_WORDS, ("direct", "direct", "direct")) as run,
    ):
        assert run.stdout is not None
        assert run.stdout.readline() == "begun\n"
        grid.cut("c2", "c1", one_way=True)
        (tmp_path / "cut").touch()
        output, said = run.communicate(timeout=100)
    assert output == "last words\n", said
    assert run.returncode == 0, said
