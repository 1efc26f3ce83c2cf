"""Parts of the machine that are killed while the program survives losses: the others go on."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runtime.testing.sshd import running_sshd
from tests.commands import gcm_deploy

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
try:
    world.barrier()  # the others may still be in it when rank 0 says that it is up
    if world.rank == 0:
        print("up", flush=True)
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
    [("gcm-front-end", -2), ("gcm-front-end", -1), ("gcm-pmi", -1)],
    ids=["the leading front-end", "another front-end", "the process manager"],
)
def test_a_killed_front_end_or_process_manager_takes_only_its_own_cluster_along(
    bench: Bench, name: str, place: int
) -> None:
    # The front-ends of local clusters are children of one more, which therefore comes first.
    def strike(_identifier: str, text: str) -> None:
        if text == "up":
            named = [pid for pid, line in bench.processes().items() if line.startswith(name)]
            os.kill(named[place], signal.SIGKILL)

    bench.recorder.on_line = strike
    outcome = bench.deploy(bench.plan(PROGRAM, grid=TWO, failures="return"))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert sorted(said) == ["left 2", "left 2", "up"]


REBUILDING = PROGRAM.replace(
    "try:\n",
    """info = MPI.Info.Create()
info.Set("gcm_recovery", "rebuild")
world = world.Dup_with_info(info)
try:
""",
    1,
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
    [("gcm-front-end", "its front-end is lost"), ("gcm-pmi", "its cluster has ended")],
)
def test_a_recovery_that_has_no_place_for_lost_ranks_says_so_at_all_survivors(
    bench: Bench, name: str, why: str
) -> None:
    def strike(_identifier: str, text: str) -> None:
        if text == "up":
            named = [pid for pid, line in bench.processes().items() if line.startswith(name)]
            os.kill(named[-1], signal.SIGKILL)

    bench.recorder.on_line = strike
    outcome = bench.deploy(bench.plan(REBUILDING, grid=TWO, failures="return"))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert len([line for line in said if why in line]) == 2
    assert said.count("left 2") == 2


DYING = PROGRAM.replace(
    "    while True:",
    """    if world.rank == 3:
        import threading
        threading.Timer(0.3, lambda: os.kill(os.getpid(), 9)).start()
    while True:""",
)


def test_a_survivor_that_finalises_mpi_by_itself_waits_for_no_lost_rank(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    finalising = "    MPI.Finalize()\n    print(MPI.Is_finalized(), flush=True)\n"
    program.write_text(f"import os\n{DYING}{finalising}")
    done = gcm_deploy("--emulate", "2x1x2", "--failures", "return", program)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == [*["3"] * 3, *["True"] * 3, *["left"] * 3, "up"]


@pytest.mark.needs_sshd
def test_a_rank_that_is_killed_behind_ssh_is_survived_too(bench: Bench, tmp_path: Path) -> None:
    with running_sshd(tmp_path, GCM_TEST_RUN=bench.mark, TMPDIR=bench.temporary) as sshd:
        far = f'{sshd.hop}<front-end python="{sys.executable}"/>'
        grid = TWO.replace('<cluster name="b">', f'<cluster name="b">{far}')
        outcome = bench.deploy(bench.plan(DYING, grid=grid, failures="return"))
        assert bench.wait_until_gone() == []
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert sorted(said) == ["left 3"] * 3 + ["up"]


def test_a_rank_that_is_killed_is_survived_with_open_mpi_too(
    bench: Bench,
    open_mpi: Path,
) -> None:
    cluster = (
        f'<front-end python="{open_mpi}/python"/><mpi ranks="2" command-path="{open_mpi}/mpiexec"/>'
    )
    outcome = bench.deploy(bench.plan(DYING, grid=TWO.replace("{mpi}", cluster), failures="return"))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    said = [line for rank in RANKS for line in bench.recorder.said_by(rank)]
    assert sorted(said) == ["left 3"] * 3 + ["up"]


def test_a_run_without_any_loss_leaves_nothing_although_mpi_is_not_finalised(bench: Bench) -> None:
    program = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))\n"
    outcome = bench.deploy(bench.plan(program, grid=TWO, failures="return"))
    assert (outcome.exit_code, outcome.errors) == (0, ())
    assert outcome.exits == dict.fromkeys(RANKS, 0)


OWN_END = """
import os, sys
from mpi4py import MPI
world = comm = MPI.COMM_WORLD
incarnation = world.Get_attr(MPI.FT_INCARNATION)
if world.rank == 2 and incarnation == 1:
    os._exit(9)
try:
    if incarnation == 1:
        world.barrier()
except MPI.Exception as lost:
    HANDLED
AFTERWARDS
"""
SHRINKS = "comm.Revoke(); comm = comm.Shrink(); comm.barrier()"
ENDS = {
    "nothing is done about it, an error": ("--failures return", "pass", "1 / 0", 1),
    "an error in the handler": ("--failures return", "raise RuntimeError('enough')", "", 1),
    "an error of the handler behind a recovery": ("--failures return", f"{SHRINKS}; 1 / 0", "", 1),
    "an error of one of those left": (
        "--failures return", SHRINKS, "1 / (comm.rank - 1); comm.barrier()", 1,
    ),
    "a code in the handler": ("--failures return", "sys.exit(3)", "", 3),
    "a code behind a recovery": ("--failures return", SHRINKS, "sys.exit(3)", 3),
    "an abort behind a recovery": ("--failures return", SHRINKS, "comm.Abort(44)", 44),
    "an abort with gaps": ("--recovery blank", "comm = comm.Dup()", "comm.Abort(44)", 44),
    "an error with gaps": ("--recovery blank", "comm = comm.Dup()", "comm.barrier(); 1 / 0", 1),
    "an error of those started again, too": (
        "--recovery rebuild", "pass", "comm = comm.Dup(); comm.barrier(); 1 / 0", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_what_a_program_does_after_a_loss_that_it_survived_is_its_own_end(
    tmp_path: Path, name: str
) -> None:
    option, handled, afterwards, code = ENDS[name]
    program = tmp_path / "program.py"
    program.write_text(OWN_END.replace("HANDLED", handled).replace("AFTERWARDS", afterwards))
    done = gcm_deploy("--quiet", "--emulate", "2x2", *option.split(), program)
    assert done.returncode == code, done.stderr
    first, *_ = done.stderr.partition("gcm-deploy: before that rank 2 (site0/cluster1 0) was lost")
    assert "failed first: " in first
    assert ("Traceback" in first) == (code != 3)
    assert "the program went on: exit code 9\n" in done.stderr
    if code != 44:  # all call Abort: the first ends the others, before or after they have, too
        assert ("failed in the same way" in done.stderr) == ("of one" not in name)


def test_a_loss_that_nobody_handles_is_why_the_run_failed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(OWN_END.replace("HANDLED", "raise"))
    done = gcm_deploy("--quiet", "--emulate", "2x2", "--failures", "return", program)
    assert done.returncode == 9, done.stderr
    assert "rank 2 (site0/cluster1 0)" in done.stderr.partition("failed first: exit code 9")[0]
