"""A program on one line, as a person runs it: real processes, real MPI."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.mpi
LONG = 60

SHOWS = """\
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
places = world.gather(os.getcwd())
if world.rank == 0:
    print(world.size, sorted(set(places)), sys.argv[1:], os.environ.get("COLOUR"))
sys.exit(7 if "fail" in sys.argv else 0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program in a package."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "shows.py").write_text(SHOWS)
    return tmp_path


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=LONG)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("line", "size", "arguments"),
    [
        ("--emulate 2x2x2 package/shows.py --quiet -- x", 8, ["--quiet", "--", "x"]),
        ("-n 3 package/shows.py", 3, []),
        ("-n 2 -m package.shows -n 5", 2, ["-n", "5"]),
        ("-H localhost:2 -H localhost package/shows.py", 3, []),
        ("-np 2 package/shows.py", 2, []),
        ("--ntasks 2 package/shows.py", 2, []),
        ("--hostfile hosts --oversubscribe package/shows.py", 2, []),
        ("-hosts localhost -ppn 2 package/shows.py", 2, []),
    ],
)
def test_a_program_runs_where_it_was_called_from(
    start: Any, folder: Path, line: str, size: int, arguments: list[str]
) -> None:
    (folder / "hosts").write_text("localhost slots=2\n")
    process = start("--quiet", "-x", "COLOUR=red", *line.split(), cwd=folder)
    assert ended(process) == (0, f"{size} ['{folder}'] {arguments} red\n", "")


POOL = """\
import sys
import beside
from mpi4py.futures import MPIPoolExecutor

if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        print(list(pool.map(beside.square, range(4))), sys.flags.safe_path)
"""


def test_workers_of_a_pool_find_what_is_beside_the_program(start: Any, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "main.py").write_text(POOL)
    (tmp_path / "package" / "beside.py").write_text("def square(x): return x * x\n")
    line = "--quiet -n 2 -m mpi4py.futures package/main.py"
    assert ended(start(*line.split(), cwd=tmp_path)) == (0, "[0, 1, 4, 9] False\n", "")


@pytest.mark.parametrize("machine", ["-n 2", "--emulate 2x1", "-H localhost:2"])
def test_files_named_like_our_packages_do_not_replace_them(
    start: Any, folder: Path, machine: str
) -> None:
    for name in ("gcm", "runtime"):
        (folder / "package" / f"{name}.py").write_text("raise SystemExit('not that one')")
        (folder / f"{name}.py").write_text("raise SystemExit('not that one')")
    process = start("--quiet", *machine.split(), "package/shows.py", cwd=folder)
    assert ended(process) == (0, f"2 ['{folder}'] [] None\n", "")


def test_the_written_descriptor_does_the_same_from_anywhere(start: Any, folder: Path) -> None:
    line = "-x COLOUR=red --write grids/two.xml --emulate 2x1 package/shows.py a fail"
    (folder / "grids").mkdir()
    assert ended(start(*line.split(), cwd=folder)) == (0, "", "gcm-deploy: wrote grids/two.xml\n")
    code, out, _ = ended(start("--quiet", folder / "grids" / "two.xml", cwd="/"))
    assert (code, out) == (7, f"2 ['{folder}'] ['a', 'fail'] red\n")


def test_progress_summary_and_tags_are_those_of_any_run(start: Any, folder: Path) -> None:
    code, out, err = ended(
        start("--verbose", "--tag-output", "--emulate", "2x1", "package/shows.py", cwd=folder)
    )
    assert (code, out) == (0, f"[0] 2 ['{folder}'] [] None\n")
    assert "gcm-deploy: running: 2 ranks in 2 clusters" in err
    assert "shows: exit code 0; 2 ranks in 2 clusters; " in err


def test_an_executable_runs_in_every_cluster(start: Any, folder: Path) -> None:
    process = start("--quiet", "--emulate", "2x2", "echo", "native", cwd=folder)
    assert ended(process) == (0, "native\n" * 4, "")


def test_each_change_of_a_run_is_logged_where_somebody_asks_for_it(
    start: Any, folder: Path
) -> None:
    words = ("--quiet", "--log-level", "info", "-n", "2", "package/shows.py", "fail")
    code, _, err = ended(start(*words, cwd=folder))
    assert code == 7
    told = err.splitlines()
    for line in (
        "the run: planned -> starting, it begins",
        "rank 1: running -> failed, ended with exit code 7",
        "the run: running -> settling, something has failed",
        "site0/cluster0: job: running -> ended, it has ended with code 7",
        "the run: ending -> failed, all has ended, code 7",
    ):
        assert f"gcm-deploy: {line}" in told, err
