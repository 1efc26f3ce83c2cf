"""Every way in which a run goes wrong: bounded time, one message that helps, nothing left."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Bench

pytestmark = pytest.mark.mpi

HELLO = "from mpi4py import MPI\nprint('rank', MPI.COMM_WORLD.rank)\n"
TWO = (
    '<site name="s"><cluster name="a">{mpi}</cluster></site>'
    '<site name="t"><cluster name="b">{mpi}</cluster></site>'
)


def fake(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def one_cluster(mpiexec: object, ranks: int = 2) -> str:
    return (
        f'<site name="s"><cluster name="a"><mpi ranks="{ranks}" command-path="{mpiexec}"/>'
        "</cluster></site>"
    )


def test_the_wrong_mpiexec_is_told_from_every_rank_being_0_of_1(bench: Bench) -> None:
    """It starts both ranks, but they know nothing of each other, as with another MPI's ranks."""
    wrong = fake(
        bench.folder,
        "mpiexec",
        'test "$1" = --version && { echo HYDRA; exit 0; }\nshift 2\n"$@" &\n"$@" &\nwait',
    )
    outcome = bench.deploy(bench.plan(HELLO, grid=one_cluster(wrong)))
    assert outcome.exit_code == 203
    assert "one takes itself for rank 0 of 1" in outcome.errors[0]
    assert "Name the mpiexec that belongs to that mpi4py" in outcome.errors[0]


def test_a_python_without_mpi4py_is_named(bench: Bench) -> None:
    bare = fake(
        bench.folder, "python", f'exec {sys.executable} -S "$@"'
    )  # without its site-packages, so without mpi4py
    outcome = bench.deploy(bench.plan(HELLO, python=str(bare)))
    assert outcome.exit_code == 203
    assert re.match(r"s/a on \S+: rank [01] cannot start MPI: ", outcome.errors[0])
    assert "No module named 'mpi4py'" in outcome.errors[0]
    assert "Install mpi4py" in outcome.errors[0]


def test_a_rank_that_dies_before_the_handshake_shows_its_last_words(bench: Bench) -> None:
    dying = fake(
        bench.folder,
        "python",
        'case "$*" in *runtime.rank*) test "$PMI_RANK" = 1 && '
        f'{{ echo no licence >&2; exit 9; }};; esac\nexec {sys.executable} "$@"',
    )
    began = time.monotonic()
    outcome = bench.deploy(bench.plan(HELLO, grid=TWO, python=str(dying)))
    assert time.monotonic() - began < 20
    assert outcome.exit_code == 203
    assert "no licence" in outcome.errors[0]
    assert "before the application started" in outcome.errors[0]


def test_a_rank_that_never_arrives_is_named_after_the_time_for_the_start(bench: Bench) -> None:
    slow = fake(
        bench.folder,
        "python",
        'case "$*" in *runtime.rank*) test "$PMI_RANK" = 1 && sleep 1000;; esac\n'
        f'exec {sys.executable} "$@"',
    )
    outcome = bench.deploy(bench.plan(HELLO, python=str(slow)), start=8)
    assert outcome.exit_code == 203
    assert "within 8 s; still missing: rank 1. " in outcome.errors[0]


def test_the_first_bad_exit_code_is_the_exit_code_of_the_run(bench: Bench) -> None:
    program = "import sys\nfrom mpi4py import MPI\nsys.exit(7 * MPI.COMM_WORLD.rank)\n"
    outcome = bench.deploy(bench.plan(program))
    assert outcome.exit_code == 7
    assert outcome.exits == {"0:0:0": 0, "0:0:1": 7}


def test_an_exception_in_one_cluster_ends_the_others_after_a_while(bench: Bench) -> None:
    program = (
        "import os, time\nos.chdir(os.path.dirname(__file__))\n"
        "try: os.mkdir('first')\n"
        "except FileExistsError: time.sleep(1000)\n"
        "raise ValueError('no good')\n"
    )
    plan = bench.plan(program, grid=TWO.replace("{mpi}", one_rank()))
    outcome = bench.deploy(plan)
    assert outcome.exit_code == 1
    assert "failed: ValueError: no good" in outcome.errors[0]
    assert any("did not end within 1 s, and had to be stopped" in error for error in outcome.errors)
    trace = [text for _, stream, text in bench.recorder.lines if stream == "traceback"]
    assert "ValueError: no good" in trace
    assert not any("runtime/processes" in line for line in trace)


def one_rank() -> str:
    from shutil import which

    beside = Path(sys.executable).parent / "mpiexec"
    return f'<mpi ranks="1" command-path="{beside if beside.exists() else which("mpiexec")}"/>'


def test_an_application_that_exits_without_finalising_is_told_so(bench: Bench) -> None:
    program = "import os\nfrom mpi4py import MPI\nos._exit(0)\n"
    outcome = bench.deploy(bench.plan(program))
    assert outcome.exit_code != 0
    assert any("without finalising MPI" in error for error in outcome.errors), outcome.errors


def test_a_rank_that_leaves_is_named_and_not_the_one_that_is_ended_for_it(bench: Bench) -> None:
    program = (
        "import os, time\nfrom mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank == 1: os._exit(0)\n"
        "time.sleep(1000)\n"
    )
    outcome = bench.deploy(bench.plan(program))
    assert outcome.exit_code == 1
    assert outcome.first_cause is not None
    assert outcome.first_cause.rank == "0:0:1"
    assert "ended without finalising MPI" in outcome.first_cause.what


def test_a_native_program_runs_and_its_exit_code_counts(bench: Bench) -> None:
    outcome = bench.deploy(
        bench.plan("#!/bin/sh\necho native $PMI_RANK; exit 4\n", application="executable")
    )
    assert outcome.exit_code == 4
    assert bench.recorder.said_by("0:0:1") == ["native 1"]


def test_a_port_in_use_is_named(bench: Bench) -> None:
    import socket

    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        mpi = one_rank()
        grid = f'<site name="s"><cluster name="a"><front-end port="{port}"/>{mpi}</cluster></site>'
        outcome = bench.deploy(bench.plan(HELLO, grid=grid))
    assert outcome.exit_code == 203
    assert f":{port}" in outcome.errors[0]
    assert "Choose another port" in outcome.errors[0]
