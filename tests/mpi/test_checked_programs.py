"""Programs of known fault, which `gcm-deploy --check` names; on right ones it is silent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.on_grids import COMMAND, ROOT, environment

pytestmark = pytest.mark.mpi

PROGRAMS = Path(__file__).with_name("checked_programs")
RIGHT = "right"
FAULTS_FOUND = 208

MISSED = {
    "an array is received as an object's bytes",
    "an object is received into a buffer",
    "who comes first wins",
}
"""The first ends the process in native MPI, before it can be told. The second are bytes on both
sides, which some programs pickle themselves. The third may be what its program is for.
"""

PARTS = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
me, size = comm.rank, comm.size
"""


@dataclass(frozen=True)
class Program:
    """A program, the kind of its fault or `RIGHT`, and what it is about."""

    kind: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.title}"


def programs(file: str) -> Iterator[Program]:
    _, *parts = (PROGRAMS / file).read_text("utf-8").split("\n=== ")
    for part in parts:
        head, _, text = part.partition("\n")
        kind, _, title = head.partition(" | ")
        yield Program(kind, title, text)


def kinds_found(program: Program, folder: Path) -> set[str]:
    """Return the kinds of the faults that a check finds in a program."""
    file = folder / "program.py"
    file.write_text(PARTS + program.text, encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, "--check", "--format", "json", "--run-timeout", "20", "-n", "3", str(file)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    summary = json.loads(done.stdout.splitlines()[-1])
    assert program.kind != RIGHT or not done.returncode, done.stderr
    assert (done.returncode == FAULTS_FOUND) == bool(summary["faults"])
    return {one["kind"] for one in summary["faults"]}


FILES = "seen.txt", "aside.txt"
FAULTY = [one for file in FILES for one in programs(file) if one.kind != RIGHT]


@pytest.mark.parametrize("program", FAULTY, ids=str)
def test_a_check_finds_the_fault_of_a_program(program: Program, tmp_path: Path) -> None:
    expected = set() if program.title in MISSED else {program.kind}
    assert kinds_found(program, tmp_path) == expected


@pytest.mark.parametrize("file", FILES)
def test_a_check_finds_nothing_in_right_programs(file: str, tmp_path: Path) -> None:
    texts = [one.text for one in programs(file) if one.kind == RIGHT]
    assert not kinds_found(Program(RIGHT, file, "comm.Barrier()\n".join(texts)), tmp_path)
