"""Programs of known fault, which `gcm-deploy --check` names; on right ones it is silent."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.commands import gcm_deploy
from tools.on_grids import COMMAND, environment

pytestmark = pytest.mark.mpi

PROGRAMS = Path(__file__).with_name("checked_programs")
RIGHT = "right"
FAULTS_FOUND = 208

MISSED = {
    "an object is received into a buffer",
    "who comes first wins",
}
"""The first are bytes on both sides, which some programs pickle themselves. The second may be what
its program is for.
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


def faults_found(
    text: str, folder: Path, shape: tuple[str, str] = ("-n", "3"), *, is_right: bool = False
) -> list[dict[str, Any]]:
    """Return the faults that a check finds in a program, which always comes to an end."""
    file = folder / "program.py"
    file.write_text(PARTS + text, encoding="utf-8")
    options = ("--check", "--format", "json", "--explain-waits", "1", "--run-timeout", "60")
    done = gcm_deploy(*options, *shape, file)
    faults: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])["faults"]
    assert not is_right or not done.returncode, done.stderr
    assert "so it was ended" not in done.stderr
    assert (done.returncode == FAULTS_FOUND) == bool(faults)
    calls = [call for one in faults for call in one["calls"]]
    assert all(re.search(r"\(program\d*\.py:\d+\)$", call) for call in calls), calls
    return faults


FILES = "seen.txt", "aside.txt"
FAULTY = [one for file in FILES for one in programs(file) if one.kind != RIGHT]
AT_THE_END = [one for one in FAULTY if one.kind in ("request", "changed", "freed")]
"""Those that come to their end: they run one after the other, each as a file of its own."""

ONE_AFTER_THE_OTHER = """
kept = []
for number, text in enumerate({texts}):
    kept.append({{"np": np, "MPI": MPI, "comm": comm.Dup(), "me": me, "size": size}})
    exec(compile(text, f"program{{number}}.py", "exec"), kept[-1])
    kept[-1].pop("comm").Free()
"""


@pytest.mark.parametrize("program", [one for one in FAULTY if one not in AT_THE_END], ids=str)
def test_a_check_finds_the_fault_of_a_program(program: Program, tmp_path: Path) -> None:
    expected = set() if program.title in MISSED else {program.kind}
    faults = faults_found(program.text, tmp_path)
    found = {one["kind"] for one in faults}
    if program.kind == "collective":
        assert all(len(one["calls"]) == 2 for one in faults), faults
        assert all(re.search(r": rank \d is in .*, rank \d in ", one["text"]) for one in faults)
    if program.kind == "order":  # where another one comes first, a rank may fail and leave a send
        found.discard("buffering")
    assert found == expected


SHAPES = ("-n", "3"), ("--emulate", "1x3x1")
WITH_WINDOWS = [one for one in AT_THE_END if "Win." in one.text]
"""Windows over clusters have no handles that programs could see, and have to be freed as well."""


@pytest.mark.parametrize(
    ("shape", "together"),
    [(SHAPES[0], AT_THE_END), (SHAPES[1], WITH_WINDOWS)],
    ids=["all", "windows over clusters"],
)
def test_a_check_finds_all_faults_of_what_goes_on_with_them(
    shape: tuple[str, str], together: list[Program], tmp_path: Path
) -> None:
    texts = [one.text for one in together]
    found: dict[int, set[str]] = {}
    for fault in faults_found(ONE_AFTER_THE_OTHER.format(texts=texts), tmp_path, shape):
        numbers = set(re.findall(r"\(program(\d+)\.py:", " ".join(fault["calls"])))
        assert len(numbers) == 1, fault
        found.setdefault(int(numbers.pop()), set()).add(fault["kind"])
    assert found == {number: {one.kind} for number, one in enumerate(together)}


def test_a_duplicate_that_was_begun_is_checked_once_it_is_there(tmp_path: Path) -> None:
    text = (
        "comm.Idup()[1].Wait()\n"
        "copies = [comm.Idup() for _ in range(2)]\n"
        "MPI.Request.Waitall([request for _, request in copies])\n"
        "copies[1][0].Free()\n"
        "copies[0][0].bcast(me, root=me)\n"
    )
    faults = faults_found(text, tmp_path, ("--emulate", "2x2"))
    kinds = [one["kind"] for one in faults]
    # a rank that has failed is not asked what it has not freed
    assert [kind for kind in kinds if kind != "freed"] == ["collective"]
    text = text[: text.index("copies[0]")]
    faults = faults_found(text, tmp_path, ("--emulate", "2x2"))
    assert [one["kind"] for one in faults] == ["freed", "freed"]
    assert {call for one in faults for call in one["calls"]} == {
        f"Idup (program.py:{PARTS.count(chr(10)) + line})" for line in (1, 2)
    }


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
@pytest.mark.parametrize("program", [*programs("followed.txt")], ids=str)
def test_a_check_blames_nothing_that_follows_from_a_fault(
    program: Program, shape: tuple[str, str], tmp_path: Path
) -> None:
    faults = faults_found(program.text, tmp_path, shape)
    assert [one["kind"] for one in faults] == [program.kind]


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
@pytest.mark.parametrize("file", FILES)
def test_a_check_finds_nothing_in_right_programs(
    file: str, shape: tuple[str, str], tmp_path: Path
) -> None:
    texts = [one.text for one in programs(file) if one.kind == RIGHT]
    assert not faults_found("comm.Barrier()\n".join(texts), tmp_path, shape, is_right=True)


def test_a_check_that_is_ended_from_outside_claims_nothing(tmp_path: Path) -> None:
    text = "import time\nprint('here', flush=True)\ntime.sleep(60)\n"
    (tmp_path / "program.py").write_text(PARTS + text, encoding="utf-8")
    words = "--check", "-n", "2", str(tmp_path / "program.py")
    with subprocess.Popen(
        [*COMMAND, *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert [run.stdout.readline() for _ in range(2)] == ["here\n"] * 2
        run.terminate()
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 128 + signal.SIGTERM
    assert errors.splitlines()[-1] == (
        "gcm-deploy: the check is not complete: the run was ended before all ranks had told"
    )
