"""The MPI examples say the right thing alone, under a plain mpiexec, and on a grid."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.examples.runs import DEPLOY, deploy, run
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

VERSIONS = ["flat", "hierarchical"]
SORTED = "examples/21_mergesort"
PI = r"pi is about 3\.1[34]\d{4} after (\d+) tries of (\d+) processes: right\n"


def mpiexec() -> str:
    beside_python = Path(sys.executable).parent
    found = shutil.which("mpiexec", path=f"{beside_python}:{os.environ.get('PATH', '')}")
    assert found is not None
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ranks", [0, 3])
def test_pi_is_right_on_one_cluster(version: str, ranks: int) -> None:
    start = [mpiexec(), "-n", str(ranks)] if ranks else []
    said = run(*start, sys.executable, f"examples/20_monte_carlo/{version}.py")
    found = re.fullmatch(PI, said)
    assert found, said
    assert found.groups() == (str(200_000 * max(ranks, 1)), str(max(ranks, 1)))


def test_pi_is_the_same_flat_and_along_the_hierarchy_of_two_sites() -> None:
    flat, hierarchical = (
        deploy("monte-carlo", "--set", f"version={version}") for version in VERSIONS
    )
    found = re.fullmatch(PI, flat)
    assert found, flat
    assert found.groups() == ("1400000", "7")
    assert hierarchical == flat


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ranks", [0, 3])
def test_numbers_are_sorted_on_one_cluster(version: str, ranks: int) -> None:
    start = [mpiexec(), "-n", str(ranks)] if ranks else []
    said = run(*start, sys.executable, f"examples/21_mergesort/{version}.py", "1001")
    assert said == f"1001 numbers sorted by {max(ranks, 1)} processes: right\n"


def test_clusters_sort_and_merge_without_sites_between_them() -> None:
    said = run(*DEPLOY, "--quiet", "--emulate", "2x2x1", f"{SORTED}/hierarchical.py", "1e5", "1")
    assert said == "100000 numbers sorted by 4 processes: right\n"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("numbers", [3, 200_000])
def test_numbers_are_sorted_on_two_sites(version: str, numbers: int) -> None:
    said = deploy("mergesort", "--set", f"version={version}", "--set", f"numbers={numbers}")
    assert said == f"{numbers} numbers sorted by 5 processes: right\n"


def test_ranks_take_tasks_from_a_window_of_another_cluster() -> None:
    said = run(
        *DEPLOY, "--quiet", "--emulate", "2x1x2", "examples/32_windows/bag_of_tasks.py", "20"
    )
    assert said == "20 of 20 results are right, 20 tasks were done\n"


def test_ranks_of_two_clusters_write_their_columns_to_one_file(tmp_path: Path) -> None:
    words = ["--quiet", "--emulate", "2x1x2", "examples/33_files/one_file.py"]
    said = run(*DEPLOY, *words, str(tmp_path / "matrix"))
    assert said == "384 bytes in site0/cluster0\nthe last row: 0 0 1 1 2 2 3 3\n"


def test_visitors_find_a_model_by_its_name() -> None:
    said = run(*DEPLOY, "--quiet", "--emulate", "2x1x2", "examples/34_ports/queries.py")
    assert said == "".join(f"visit {n}: the model is at {1 + 2 * n}\n" for n in (1, 2, 3))


def test_heat_goes_on_where_it_was_on_two_sites(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "30_heat", tmp_path / "examples" / "30_heat")
    shutil.copytree(ROOT / "descriptors", tmp_path / "descriptors")
    words = [*DEPLOY, "--quiet", str(tmp_path / "descriptors" / "heat.xml")]
    first = run(*words, "--set", "steps=250")
    assert first.startswith("4 ranks begin at step 0 of 250\nthe rod after 250 steps is in rod.txt")
    second = run(*words, "--set", "steps=400")
    assert second.startswith("4 ranks begin at step 200 of 400\n")
    again = (tmp_path / "examples" / "30_heat" / "rod.txt").read_text()
    shutil.rmtree(tmp_path / "examples" / "30_heat" / "checkpoints")
    run(*words, "--set", "steps=400")
    assert (tmp_path / "examples" / "30_heat" / "rod.txt").read_text() == again


@pytest.mark.parametrize("shape", ["4x1", "1x4"])
def test_programs_go_on_to_the_right_end_though_they_lose_ranks(shape: str) -> None:
    words = [*DEPLOY, "--quiet", "--emulate", shape, "--recovery"]
    said = run(*words, "shrink", "examples/40_survival/solver.py").splitlines()
    assert said[:2] == ["1 lost, 3 go on", "1 lost, 2 go on"]
    assert re.fullmatch(r"solved in \d+ steps with 2 of 4 ranks: True", said[2])
    words_of_farm = ["blank", "--recovery-messages", "cont", "examples/40_survival/farm.py"]
    said = run(*words, *words_of_farm).splitlines()
    assert sorted(said) == [
        "gaps: [1, 3]",
        "rank 1 is lost, its work is handed out again",
        "rank 3 is lost, its work is handed out again",
        "sum of squares: 20540, 40 jobs",
    ]
    said = run(*words, "rebuild", "examples/40_survival/stencil.py").splitlines()
    assert said == [
        "back to step 8 with 1 new ranks",
        "back to step 32 with 1 new ranks",
        "60 steps by 4 ranks: True",
    ]
