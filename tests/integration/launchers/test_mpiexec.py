"""Both MPIs as they come from wheels: started, told apart, mixed up, killed."""

from __future__ import annotations

import collections
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from runtime.launchers import family
from runtime.launchers.base import Command, OutputStream, Reach
from runtime.launchers.errors import MissingMpiexec, MpiexecFailed, WrongMpiexec
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import check_mpi_pair, detect_native_mpi, mpi_command
from runtime.launchers.rank_lines import RankLines
from runtime.native_mpi import MPICH, OPEN_MPI, MpiWorld, NativeMpi

pytestmark = pytest.mark.mpi

ROOT = os.getuid() == 0
TAGGED = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from runtime.launchers.ranks import rank_of_environment, tag_output
tag_output(rank_of_environment())
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Becomes another program whose output is tagged, in any Python."""

Said = dict[tuple[int | None, OutputStream], list[str]]


class Mpi(Protocol):
    """An MPI of conftest."""

    native: NativeMpi
    mpiexec: str
    python: str


def job(mpi: Mpi, program: str, count: int = 2, *, tagged: bool = True) -> Command:
    argv = [mpi.python, *(["-c", TAGGED, mpi.python] if tagged else []), "-c", program]
    return mpi_command(MpiWorld(argv, count, mpi.mpiexec), mpi.native, is_root=ROOT)


def run(local: LocalLauncher, mpi: Mpi, command: Command) -> tuple[int, Said]:
    heard: dict[tuple[int | None, OutputStream], bytes] = collections.defaultdict(bytes)

    def call(rank: int | None, stream: OutputStream, block: bytes) -> None:
        heard[rank, stream] += block

    ended = local.start(command, RankLines(call, tag=mpi.native.tag)).wait(60)
    said: Said = collections.defaultdict(list)
    said |= {which: data.decode().splitlines() for which, data in heard.items()}
    return ended.shell_code, said


def test_every_rank_knows_its_place_and_its_lines_keep_its_name(
    local: LocalLauncher, mpi: Mpi
) -> None:
    program = (
        "import sys; from mpi4py import MPI; c = MPI.COMM_WORLD\n"
        "print(c.rank, 'of', c.size); sys.stderr.write('half a line')"
    )
    code, said = run(local, mpi, job(mpi, program, 3))
    assert code == 0
    for rank in range(3):
        assert said[rank, OutputStream.OUTPUT] == [f"{rank} of 3"]
        assert said[rank, OutputStream.ERROR] == ["half a line"]


def test_lines_of_all_ranks_stay_whole_and_in_order_in_a_flood(
    local: LocalLauncher, mpi: Mpi
) -> None:
    program = (
        "import os\n"
        "for i in range(4000):\n"
        "    os.write(1, b'%d ' % i); os.write(1, b'o' * (i % 700) + b'\\n')\n"
        "    os.write(2, b'%d ' % i + b'e' * (i % 300) + b'\\n')\n"
        "os.write(1, b'x' * 20000 + b'\\n')"
    )
    code, said = run(local, mpi, job(mpi, program, 4))
    assert code == 0
    for rank in range(4):
        output = [f"{i} " + "o" * (i % 700) for i in range(4000)]
        assert said[rank, OutputStream.OUTPUT] == [*output, "x" * 20000]
        assert said[rank, OutputStream.ERROR] == [f"{i} " + "e" * (i % 300) for i in range(4000)]
    assert [line for line in said[None, OutputStream.OUTPUT] if line] == []


def test_a_killed_rank_is_heard_to_its_last_words(local: LocalLauncher, mpi: Mpi) -> None:
    program = (
        "import os; from mpi4py import MPI; c = MPI.COMM_WORLD\n"
        "c.Barrier()\n"
        "if c.rank == 1:\n"
        "    for i in range(1000): os.write(1, b'line %d\\n' % i)\n"
        "    os.write(1, b'last words'); os.kill(os.getpid(), 9)\n"
        "c.Barrier()"
    )
    code, said = run(local, mpi, job(mpi, program))
    assert code != 0
    expected = [*(f"line {i}" for i in range(1000)), "last words"]
    heard = said[1, OutputStream.OUTPUT]
    if mpi.native is OPEN_MPI:  # on a busy machine it aborts before it has read all
        expected = expected[: max(1, len(heard))]
    assert heard == expected


def test_the_exit_code_of_a_rank_is_the_exit_code_of_the_job(
    local: LocalLauncher, mpi: Mpi
) -> None:
    assert run(local, mpi, job(mpi, "raise SystemExit(7)"))[0] == 7


def test_settings_reach_every_rank_and_stdin_reaches_the_first(
    local: LocalLauncher, mpi: Mpi
) -> None:
    program = (
        "import os, sys; from mpi4py import MPI; r = MPI.COMM_WORLD.rank\n"
        "print(os.environ['WORD'], sys.stdin.readline().strip() if r == 0 else '')"
    )
    command = mpi_command(
        MpiWorld(
            (mpi.python, "-c", TAGGED, mpi.python, "-c", program),
            2,
            mpi.mpiexec,
            environment={"WORD": "a b"},
        ),
        mpi.native,
        is_root=ROOT,
        first_input=b"a secret\n",
    )
    _, said = run(local, mpi, command)
    assert said[0, OutputStream.OUTPUT] == ["a b a secret"]
    assert said[1, OutputStream.OUTPUT] == ["a b "]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_mpiexec_ends_the_ranks(
    local: LocalLauncher,
    mpi: Mpi,
    number: signal.Signals,
    wait_gone: Callable[[list[int], float], list[int]],
) -> None:
    ready = threading.Semaphore(0)
    program = "import time; from mpi4py import MPI; print('up', flush=True); time.sleep(1000)"
    sink = RankLines(
        lambda rank, *_: ready.release() if rank is not None else None, tag=mpi.native.tag
    )
    process = local.start(job(mpi, program), sink)
    assert ready.acquire(timeout=30)
    assert ready.acquire(timeout=30)
    started = family.descendants({local.ready().guard}, family.processes())
    assert len(started) >= 3
    process.signal(number, Reach.PROCESS)
    assert not process.wait(15).ok
    assert wait_gone(sorted(started), 20) == []


def test_the_flavour_is_found_out(local: LocalLauncher, mpi: Mpi) -> None:
    assert detect_native_mpi(local, mpi.mpiexec) is mpi.native


def test_a_missing_mpiexec_is_told_with_what_to_install(local: LocalLauncher) -> None:
    with pytest.raises(MissingMpiexec, match=r"there is no 'no-mpiexec'.*pip install mpich"):
        detect_native_mpi(local, "no-mpiexec")
    with pytest.raises(MissingMpiexec):
        check_mpi_pair(local, MPICH, "no-mpiexec", sys.executable)


def test_a_program_that_is_no_mpiexec_is_told(local: LocalLauncher, tmp_path: Path) -> None:
    other = tmp_path / "mpiexec"
    other.write_text("#!/bin/sh\necho Some other MPI, $1\n")
    other.chmod(0o755)
    with pytest.raises(WrongMpiexec, match="belongs to no MPI known here") as fault:
        detect_native_mpi(local, str(other))
    assert fault.value.cause == "Some other MPI, --version"


def test_the_right_pair_passes(local: LocalLauncher, mpi: Mpi) -> None:
    check_mpi_pair(local, mpi.native, mpi.mpiexec, mpi.python)


def test_the_wrong_mpiexec_is_found_by_its_lonely_ranks(
    local: LocalLauncher, mpi_homes: dict[str, Mpi | str]
) -> None:
    mpich, openmpi = mpi_homes[MPICH.name], mpi_homes[OPEN_MPI.name]
    if isinstance(mpich, str) or isinstance(openmpi, str):
        pytest.skip(f"needs both MPIs: {mpich}, {openmpi}")
    with pytest.raises(
        WrongMpiexec, match="each takes itself for rank 0 of 1: the mpi4py of"
    ) as fault:
        check_mpi_pair(local, mpich.native, mpich.mpiexec, openmpi.python)
    assert openmpi.python in fault.value.what
    with pytest.raises(WrongMpiexec, match="they refuse to be its ranks: the mpi4py of") as fault:
        check_mpi_pair(local, openmpi.native, openmpi.mpiexec, mpich.python)
    assert "PMI version" in fault.value.cause


def test_a_job_that_cannot_run_is_told_with_its_last_words(local: LocalLauncher, mpi: Mpi) -> None:
    with pytest.raises(MpiexecFailed, match="could not run two ranks") as fault:
        check_mpi_pair(local, mpi.native, mpi.mpiexec, "/no/such/python")
    assert "/no/such/python" in fault.value.cause


def test_what_a_rank_leaves_running_does_not_hold_the_job(local: LocalLauncher, mpi: Mpi) -> None:
    program = "import subprocess; print('up', flush=True); subprocess.Popen(['sleep', '1000'])"
    code, said = run(local, mpi, job(mpi, program, 1))
    assert code == 0
    assert said[0, OutputStream.OUTPUT] == ["up"]
