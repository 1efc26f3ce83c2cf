"""Programs that were written for one MPI run unmodified over two clusters: demos of mpi4py.

They are taken from its source distribution, which is fetched once; nothing of them is kept here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands import gcm_deploy
from tests.conformance.source import NoSource, folder_of_tests
from tools.on_grids import descriptor

pytestmark = pytest.mark.mpi

RANKS = 4
GREETING = r"Hello, World! I am {} \d of {} on \S+\."
POOL = "mpi4py.futures"


class Said(NamedTuple):
    out: list[str]
    err: str


@pytest.fixture(scope="module")
def demos() -> Path:
    try:
        return folder_of_tests().parent / "demo"
    except NoSource as error:
        pytest.skip(f"needs mpi4py's source distribution: {error}")


def run(demo: Path, folder: Path, layout: str = "2+2", module: str = "") -> Said:
    """Run a demo over clusters, or hand it to a module that runs it; return its sorted lines."""
    text = descriptor(layout, str(demo), [str(demo)] if module else [])
    if module:
        text = text.replace(f'script="{demo}"', f'module="{module}"')
    (folder / "grid.xml").write_text(text, "utf-8")
    done = gcm_deploy("--quiet", folder / "grid.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    return Said(sorted(line.rstrip() for line in done.stdout.splitlines()), done.stderr)


@pytest.mark.parametrize("name", ["helloworld", "sequential/test_seq"])
def test_every_rank_of_both_clusters_says_hello(demos: Path, tmp_path: Path, name: str) -> None:
    out, err = run(demos / f"{name}.py", tmp_path)
    greeting = re.compile(GREETING.format("process", RANKS))
    assert err == ""
    assert [bool(greeting.fullmatch(line)) for line in out] == [True] * RANKS, out
    assert [line.split()[5] for line in out] == ["0", "1", "2", "3"]


def test_a_picture_is_computed_by_ranks_of_both_clusters(demos: Path, tmp_path: Path) -> None:
    out, _ = run(demos / "mandelbrot/mandelbrot.py", tmp_path)
    tasks = sorted(line.partition("(")[2] for line in out if line.startswith("wall clock time"))
    assert tasks == ["task 0)", "task 1)", "task 2)", "task 3)"]
    assert [line.split(":")[0] for line in out if line.startswith("all tasks")] == [
        *("all tasks, max", "all tasks, mean", "all tasks, min", "all tasks, sum"),
    ]


def test_reductions_written_with_messages_pass_their_own_tests(demos: Path, tmp_path: Path) -> None:
    _, err = run(demos / "reductions/test_reductions.py", tmp_path)
    assert re.findall(r"^(?:OK|FAILED|Ran \d+ tests)", err, re.MULTILINE).count("OK") == RANKS
    assert len(re.findall(r"^Ran 80 tests", err, re.MULTILINE)) == RANKS


def test_a_pool_of_workers_spans_both_clusters(demos: Path, tmp_path: Path) -> None:
    out, err = run(demos / "futures/run_hello.py", tmp_path, module=POOL)
    greeting = re.compile(GREETING.format("worker", RANKS - 1) + "\x00*")
    assert err == ""
    assert [bool(greeting.fullmatch(line)) for line in out] == [True] * (RANKS - 1), out


@pytest.mark.parametrize(
    "name",
    [
        "mpi-ref-v1/ex-2.08",  # two ranks of two clusters exchange, and look at the status
        "mpi-ref-v1/ex-2.16",  # Jacobi iterations with Sendrecv and Allreduce
        "mpi-ref-v1/ex-2.32",  # the same with persistent requests
        "nxtval/nxtval-threads",  # a thread of one rank counts for all
        "profiling/ring",  # 8 MB from rank to rank
    ],
)
def test_a_program_that_checks_itself_finds_nothing_wrong(
    demos: Path, tmp_path: Path, name: str
) -> None:
    assert run(demos / f"{name}.py", tmp_path, "1|2") == ([], "")
