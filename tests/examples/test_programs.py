"""Programs of the field: verified against known results on grids; planted faults are found."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from runtime.machine.deaths import RankDeath
from runtime.views.fact_lines import read_facts
from runtime.views.facts import OutputWritten
from tests.examples.runs import DEPLOY, on_grid, run
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi


def with_fault(program: str, fault: str, *arguments: str) -> str:
    """Run a program alone, after a statement has changed its module; it has to fail."""
    path = ROOT / "examples" / program
    code = (
        f"import sys; sys.path.insert(0, {str(path.parent)!r}); sys.argv = [{str(path)!r}, "
        f"*{arguments!r}]; import {path.stem} as m\n{fault}\nsys.exit(m.main())"
    )
    return run(sys.executable, "-c", code, code=1)


PROGRAMS = {
    "pi by integration": (
        ("22_integration/integrate.py", "1e5"),
        "pi is 3.1415926535981 by 100000 strips of 4 ranks: right",
    ),
    "EP": (
        ("24_npb/ep.py",),
        "EP class S: 13176389 pairs of 2^24, sums -3.247834652e+03 -6.958407078e+03, 4 ranks: "
        "verified",
    ),
    "IS": (
        ("24_npb/integer_sort.py",),
        "IS class S: 50 of 50 ranks right, sorted, 4 ranks: verified",
    ),
    "spectral shallow water": (
        ("27_shallow_water/shallow_water.py",),
        r"4 layers of 32\^2, 10 steps, 2 x 2 ranks: wrong by \d\.\de-1\d, right",
    ),
    "data clustering": (
        ("28_clustering/clustering.py",),
        "8000 objects in 4 clusters after 4 rounds, 4 ranks: 99.8% as planted, right",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_over_two_clusters_has_the_known_result(name: str) -> None:
    words, expected = PROGRAMS[name]
    said = on_grid("2x2", *words)
    assert said == expected or re.fullmatch(expected, said)


def test_the_ray_tracer_has_the_published_sum_and_draws_its_picture(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "25_ray_tracer", tmp_path / "examples")
    said = on_grid("2x1", str(tmp_path / "examples/ray_tracer.py"), "--picture", "a.ppm")
    assert said == "150 x 150 pixels, sum 2676692, 2 ranks: verified"
    picture = (tmp_path / "examples" / "a.ppm").read_bytes()
    assert picture.startswith(b"P6 150 150 255\n")
    assert sum(picture[15:]) == 2676692


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        (("--partition", "slices"), "4 x 1 x 1 pieces, 1 faces between clusters"),
        (("--partition", "blocks"), "2 x 2 x 1 pieces, 2 faces between clusters"),
        (("--mapping", "dealt"), "4 x 1 x 1 pieces, 3 faces between clusters"),
    ],
)
def test_jacobi_comes_as_near_to_the_solution_as_known(
    arguments: tuple[str, ...], pieces: str
) -> None:
    said = on_grid("2x2", "23_poisson/poisson.py", "--cells", "16", *arguments)
    assert said == (
        f"16^3 cells, 100 steps, {pieces}: changed by 3.070e-03 at last, 18.0% to go, right"
    )


def test_poisson_resumes_from_its_checkpoints(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "23_poisson", tmp_path / "examples")
    program = str(tmp_path / "examples" / "poisson.py")
    on_grid("2x1", program, "--steps", "50", "--checkpoint", "20")
    said = on_grid("2x1", program, "--steps", "90", "--checkpoint", "20")
    assert said.startswith("resumed after step 40\n32^3 cells, 90 steps")
    assert said.endswith("right")


def test_the_programs_of_the_java_grande_forum_are_verified() -> None:
    said = run(sys.executable, "examples/26_java_grande/kernels.py")
    assert re.findall(r"(\w+) size A, 1 ranks: verified", said) == [
        *("series", "sor", "sparse", "lufact", "crypt"),
    ]
    assert on_grid("2x1", "26_java_grande/applications.py").splitlines() == [
        *("moldyn size A, 2 ranks: verified", "montecarlo size A, 2 ranks: verified"),
    ]
    table = on_grid("2x1", "26_java_grande/operations.py", "--seconds", "0.01")
    assert table.splitlines()[-1] == "right"


STRUCK = """\
import os, signal, sys
import {module} as program
from runtime.membership.rank_link import current
work, calls = program.{work}, []
def struck(*given):
    calls.append(1)
    if len(calls) == {first} and program.MPI.COMM_WORLD.rank == 0:
        print("the clock runs", flush=True)
    if len(calls) == {first} + 2 and current().name == "0:1:1":
        os.kill(os.getpid(), signal.SIGKILL)
    return work(*given)
program.{work} = struck
sys.exit(program.main())
"""
"""The first replica of rank 3 kills itself in the third piece of work of the timed part."""

EP = {"module": "ep", "work": "block", "first": 1}
IS = {"module": "integer_sort", "work": "Sorter.rank", "first": 2}


@pytest.mark.parametrize(
    ("struck", "words", "verdict"),
    [
        (EP, ("S",), "verified"),
        (IS, ("S",), "verified"),
        (EP, ("S", "271828184"), "WRONG"),
        (IS, ("S", "314159266"), "WRONG"),
    ],
    ids=["EP", "IS", "EP, a seed off by one", "IS, a seed off by one"],
)
def test_the_verdict_over_two_clusters_is_the_same_when_a_replica_is_killed_in_the_timed_part(
    tmp_path: Path, struck: Mapping[str, object], words: tuple[str, ...], verdict: str
) -> None:
    shutil.copytree(ROOT / "examples" / "24_npb", tmp_path / "npb")
    (tmp_path / "npb" / "struck.py").write_text(STRUCK.format(**struck), "utf-8")
    record = tmp_path / "run.facts"
    run(
        *(*DEPLOY, "--quiet", "--record", str(record), "--emulate", "4x2", "--replicas", "2"),
        *(str(tmp_path / "npb" / "struck.py"), *words),
        code=0 if verdict == "verified" else 1,
    )
    story: dict[str, float] = {}
    with record.open("rb") as stream:
        for fact in read_facts(stream, record.name):
            match fact.record:
                case OutputWritten(_, data) if b"the clock runs" in data:
                    story["begun"] = fact.time
                case OutputWritten(_, data) if f"4 ranks: {verdict}".encode() in data:
                    story["ended"] = fact.time
                case RankDeath():
                    story.setdefault(f"{fact.name} died", fact.time)
    assert [*story][:2] == ["begun", "0:1:1 died"]  # others may end before all output is there
    assert story["begun"] < story["0:1:1 died"] < story["ended"]


FAULTS = {
    "IS, two keys swapped": (
        "24_npb/integer_sort.py",
        "made = m.keys_of\n"
        "def swapped(*given):\n"
        "    keys = made(*given)\n"
        "    keys[[48427, 48428]] = keys[[48428, 48427]]\n"
        "    return keys\n"
        "m.keys_of = swapped",
        "WRONG",
    ),
    "IS, another seed": ("24_npb/integer_sort.py", "m.SEED += 2", "WRONG"),
    "EP, another seed": ("24_npb/ep.py", "m.SEED += 2", "WRONG"),
    "share prices, another seed": (
        "26_java_grande/applications.py",
        "sys.argv.append('montecarlo'); made = m.gaussians\n"
        "m.gaussians = lambda seeds, count: made(seeds + (seeds == 0), count)",
        "WRONG",
    ),
    "Poisson, a step of other weights": ("23_poisson/poisson.py", "m.np.pi = 3.1416", "wrong"),
    "pi, a strip left out": (
        "22_integration/integrate.py",
        "area = m.area; m.area = lambda strips, first, step: area(strips, first + 1, step)",
        "wrong",
    ),
    "shallow water, another gravity": (
        "27_shallow_water/shallow_water.py",
        "known = m.known\n"
        "def later(plane, seconds):\n"
        "    return known(plane, seconds * 1.001)\n"
        "m.known = later",
        "wrong",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    program, fault, verdict = FAULTS[name]
    assert verdict in with_fault(program, fault)
