"""C programs over several clusters: the same results as under one `mpiexec`, and what is wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import gcm_deploy

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "c"
BIN = Path(sys.prefix) / "bin"

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all programs, compiled with the `mpicc` of the wheel of MPICH."""
    if shutil.which("gcc") is None or not (BIN / "mpicc").exists():
        pytest.skip("gcc and the wheel of MPICH, which has mpicc and headers, are needed")
    folder = tmp_path_factory.mktemp("c")
    for source in SOURCES.glob("*.c"):
        command = [str(BIN / "mpicc"), "-g", "-o", source.stem, str(source)]
        subprocess.run(command, check=True, timeout=120, cwd=folder)
    return folder


@pytest.mark.parametrize(
    "name", ["messages", "collectives", "communicators", "neighbours", "windows", "files"]
)
def test_a_c_program_prints_over_two_sites_what_it_prints_in_one_native_job(
    programs: Path, name: str
) -> None:
    native = subprocess.run(
        [str(BIN / "mpiexec"), "-n", "4", f"./{name}"],
        check=True, capture_output=True, text=True, timeout=120, cwd=programs,
    )  # fmt: skip
    done = gcm_deploy("--emulate", "2x1x2", f"./{name}", cwd=programs)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == sorted(native.stdout.splitlines())


def test_errors_that_the_program_handles_have_the_codes_of_mpi_and_a_line_each(
    programs: Path,
) -> None:
    done = gcm_deploy("--emulate", "1x2x2", "./faults", "returned", cwd=programs)
    found = dict(line.split(": ") for line in done.stdout.splitlines())
    assert done.returncode == 0
    assert found == {
        "rank": "rank",
        "tag": "tag",
        "count": "count",
        "type": "type",
        "no duplicate": "argument",
        "no request": "argument",
        "no value": "argument",
        "no flag": "argument",
        "processes": "unsupported",
        "freed": "comm",
        "nothing attached": "range",
        "operation": "op",
        "unit": "displacement",
        "accumulated": "op",
        "no folder": "no file",
        "elements": "count",
        "of one": "type",
        "before the start": "argument",
        "no memory": "argument",
        "truncated": "truncate",
        "root": "root",
        "places": "buffer",
        "types": "argument",
        "own part": "buffer",
    }
    assert "MPI_Comm_spawn at " in done.stderr
    assert "it does not work over several clusters. " in done.stderr
    assert "sent 16 bytes with tag 1 into a buffer of 4 bytes (the program goes on)" in done.stderr


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("fatal", 6, "MPI_Send at "),
        ("abort", 7, "called MPI_Abort(7)"),
        ("exit", 9, "exit code 9"),
        ("crash", 139, "killed by SIGSEGV"),
        ("early", 1, "MPI_Barrier is called before MPI_Init"),
        ("late", 1, "MPI_Barrier is called after MPI_Finalize"),
        ("forked", 0, "MPI_Barrier is called in a child of a rank (fork), which is no rank"),
        ("unfinished", 0, "this program has ended without MPI_Finalize"),
    ],
)
def test_the_end_of_a_c_program_is_that_of_the_run(
    programs: Path, fault: str, code: int, words: str
) -> None:
    done = gcm_deploy("--emulate", "1x2x2", "./faults", fault, cwd=programs)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert (fault != "exit") or done.stdout.split() == ["leaving"] * 4


def test_a_program_that_lets_broken_pipes_end_it_is_not_ended_by_those_of_the_grid(
    programs: Path,
) -> None:
    done = gcm_deploy("--emulate", "1x2x1", "./pipes", cwd=programs)
    said = "1, and a pipe was broken\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_a_rank_that_is_alone_in_its_cluster_says_why_it_ends_all(programs: Path) -> None:
    done = gcm_deploy("--emulate", "1x3x1", "./faults", "abort", cwd=programs)
    assert (done.returncode, "called MPI_Abort(7)" in done.stderr) == (7, True), done.stderr


def test_a_c_program_survives_the_loss_of_a_rank_with_the_functions_of_ulfm(
    programs: Path,
) -> None:
    done = gcm_deploy("--emulate", "2x1x2", "--failures", "return", "./losses", cwd=programs)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        *["agree: failed, then success; 1 lost, rank 3"] * 3,
        *["any source: pending, pending"] * 3,
        *["failed: 1, agreed: 2"] * 3,
        *["left: 3"] * 3,
        *["receive: failed"] * 3,
        *["revoked: revoked"] * 3,
    ]
    assert "is ended: others cannot reach it" not in done.stderr


def test_the_commands_of_the_page_print_what_it_shows(programs: Path, tmp_path: Path) -> None:
    del programs  # which is there if a compiler is
    shutil.copy(ROOT / "examples" / "29_c_program" / "pi.c", tmp_path)
    page = (ROOT / "docs" / "c.md").read_text()
    block, *_ = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    compiled, _, rest = block.partition("\n")
    run, _, shown = rest.partition("\n")
    _, *words = compiled.removeprefix("$ ").split()
    subprocess.run([str(BIN / "mpicc"), *words], check=True, timeout=120, cwd=tmp_path)
    done = gcm_deploy(*run.removeprefix("$ gcm-deploy ").split(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a program another account")
def test_a_program_that_gets_another_account_is_refused_before_it_would_be_alone(
    programs: Path, tmp_path: Path
) -> None:
    shutil.copy(programs / "faults", tmp_path)
    os.chown(tmp_path / "faults", 65534, -1)
    (tmp_path / "faults").chmod(0o4755)
    done = gcm_deploy("--emulate", "1x2x1", "./faults", cwd=tmp_path)
    assert done.returncode != 0
    assert "(setuid), and the system loads no library into such a program" in done.stderr


def test_what_a_c_program_starts_knows_nothing_of_the_grid(programs: Path) -> None:
    done = gcm_deploy("--emulate", "1x2x1", "./faults", "children", cwd=programs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "clean\n" * 2, "")


def test_one_cluster_needs_nothing_of_the_grid(programs: Path) -> None:
    done = gcm_deploy("--emulate", "1x1x2", "./faults", cwd=programs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
