from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from types import ModuleType

import pytest

from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

EXAMPLE = ROOT / "examples" / "11_coupled_codes"
DEPLOY = ("-c", "import sys; from runtime.cli import main; sys.exit(main())")


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def surface() -> ModuleType:
    spec = importlib.util.spec_from_file_location("surface", EXAMPLE / "surface.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("steps", [1, 10, 25])
def test_two_codes_of_different_sizes_compute_what_one_process_computes(
    surface: ModuleType, steps: int
) -> None:
    said = run(*DEPLOY, "descriptors/coupled-codes.xml", "--set", f"steps={steps}", "--quiet")
    sea, air = surface.in_one_process(steps)
    assert f"ocean: 30 cells, {steps} steps, heat {sea.sum():.6f}" in said
    assert f"ocean: warmest {sea.max():.6f} in cell {sea.argmax()}" in said
    for begin, end in ((0, 7), (7, 15), (15, 22), (22, 30)):
        heat = f"{air[begin:end].sum():.6f}"
        assert f"atmosphere: cells {begin} to {end - 1}, heat {heat}" in said


def test_both_codes_are_driven_from_python_twice(surface: ModuleType) -> None:
    runs = re.findall(
        r"run (\d): mean (\S+) to (\S+), exit codes (.*)", run(str(EXAMPLE / "steer.py"))
    )
    first, last = (surface.in_one_process(steps)[0][:15].mean() for steps in (1, 10))
    codes = "({0: 0, 1: 0}, {0: 0, 1: 0, 2: 0, 3: 0})"
    assert runs == [(run_number, f"{first:.3f}", f"{last:.3f}", codes) for run_number in "12"]


def test_each_mistake_at_a_code_has_an_error_of_its_own() -> None:
    said = run(str(ROOT / "examples" / "17_messages" / "messages.py"))
    told = [line.partition(":")[0] for line in said.splitlines() if not line.startswith(" ")]
    assert told == [
        *("NotCoupled", "UnknownCode", "CodeNotRunning", "CodeNotStarted", "CodeBusy"),
        *("NoSuchRank", "NoSuchPort", "LayoutFault", "UnknownSetting"),
        *("one from the driver, the last one", "exit code", "CodeEnded"),
    ]
