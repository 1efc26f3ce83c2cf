"""Records what is told of programs that wait for ever: python -m tools.explained_waits

Each program of `programs.txt` runs on one cluster (`plain`), on 2x2x2 (`grid`) and on the
communicator of a site there (`site`), or on what it is for: several `levels` of 2x2x2, two `codes`.
What users see is written down: what is told by itself and at `--run-timeout`, which is what
`gcm-deploy waits` tells too, and what `--check` finds. Write it for two checkouts and compare:

    python -m tools.explained_waits --checkout ../before > before.txt
    python -m tools.explained_waits > after.txt
    diff -u before.txt after.txt

Right programs look like faulty ones for three seconds. The exit code is 1 if one of them is said
never to go on, or does not end well. `--only WORD` chooses by title, `--shapes plain,grid` by
shape; `--jobs N` run at once (4), `--checks` runs only the checks, `--waits` only the others.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.on_grids import COMMAND, ROOT

PROGRAMS = Path(__file__).with_name("programs.txt")
RIGHT, FALSE_ALARM = "right", "FALSE ALARM"
ENDED_AFTER, PATIENCE = 7, 90.0
"""Seconds after which a run ends itself, and after which it is given up."""

BEGIN = """\
import time
import numpy as np
from runtime import MPI
comm = MPI.{comm}
me, size = comm.rank, comm.size
other, last = size - 1 - me, me == size - 1
one, much = np.zeros(1), np.zeros(4_000_000)
def never(): comm.recv(source=0 if me else size - 1, tag=99)
MPI.COMM_WORLD.Barrier()
"""

CODES = """\
<deployment>
  <application name="sea" script="program.py" clusters="here/sea"/>
  <application name="air" script="program.py" clusters="here/air"/>
  <grid><site name="here">
    <cluster name="sea"><mpi ranks="2"/></cluster>
    <cluster name="air"><mpi ranks="2"/></cluster>
  </site></grid>
</deployment>
"""

SHAPES = {
    "plain": ("COMM_WORLD", ("-n", "2", "program.py")),
    "grid": ("COMM_WORLD", ("--emulate", "2x2x2", "program.py")),
    "site": ("COMM_SITE", ("--emulate", "2x2x2", "program.py")),
    "levels": ("COMM_WORLD", ("--emulate", "2x2x2", "program.py")),
    "codes": ("COMM_WORLD", ("codes.xml",)),
}
"""The communicator of the programs, and the words of the command, for each shape."""

GENERAL = ("plain", "grid", "site")

CHANGING = (
    (r"\bprocess(?:es)? \d+\b", "process N"),
    (r"\b\d+(\.\d)? s in\b", "N s in"),
    (r"0x[0-9a-f]+", "0xN"),
    (r"\b\d+\.\d MiB\b", "N MiB"),
)
"""What differs between two runs of one program."""


@dataclass(frozen=True)
class Case:
    """A program, where it runs, and whether it is right."""

    shape: str
    title: str
    text: str
    is_right: bool = False

    def __str__(self) -> str:
        return f"{self.shape} | {RIGHT + ' | ' if self.is_right else ''}{self.title}"


def cases(text: str) -> Iterator[Case]:
    """Yield the cases of a file of programs."""
    for part in text.split("\n=== ")[1:]:
        head, _, program = part.partition("\n")
        *words, title = head.split(" | ")
        shapes = [one for one in words if one != RIGHT] or GENERAL
        yield from (Case(shape, title, program, RIGHT in words) for shape in shapes)


class Checkout:
    """A checkout with its environment, whose command is run."""

    def __init__(self, root: Path) -> None:
        """Take the Python of the checkout if it has one."""
        python = root / ".venv" / "bin" / "python"
        self._command = [str(python) if python.exists() else sys.executable, *COMMAND[1:]]
        paths = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PYTHONPATH": str(root), "PATH": paths}

    def output(self, folder: Path, *words: str) -> tuple[int, str]:
        """Run `gcm-deploy` with these words to its end; return the exit code and what it wrote."""
        run = subprocess.Popen(
            [*self._command, *words], cwd=folder, env=self._environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            text, _ = run.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            run.terminate()
            text, _ = run.communicate()
            text += f"(did not end within {PATIENCE:g} s)\n"
        return run.returncode, text


def told(text: str, folder: Path) -> list[str]:
    """Return the lines of a text that two runs have in common, of stacks those of the program."""
    text = text.replace(f"{folder}/", "")
    for pattern, instead in CHANGING:
        text = re.sub(pattern, instead, text)
    lines: list[str] = []
    is_inside = False
    for line in text.splitlines():
        if is_file := line.lstrip().startswith("File "):
            is_inside = '"program.py"' not in line
        elif not line.startswith("    "):
            is_inside = False
        if not is_inside and (is_file or line.strip()):
            lines.append(line.rstrip())
    return lines


def waits_of(case: Case, checkout: Checkout, folder: Path) -> list[str]:
    """Return what is told of the waits of a program by itself, and when its time is over."""
    options = ("--quiet", "--explain-waits", "1", "--run-timeout", str(ENDED_AFTER))
    code, text = checkout.output(folder, *options, *SHAPES[case.shape][1])
    found = [f"exit code {code}", *told(text, folder)]
    if case.is_right and (code or "can never go on" in text):
        found.append(FALSE_ALARM)
    return found


def check_of(case: Case, checkout: Checkout, folder: Path) -> list[str]:
    """Return what a check finds in a program."""
    options = ("--check", "--explain-waits", "1", "--run-timeout", str(ENDED_AFTER))
    code, text = checkout.output(folder, *options, *SHAPES[case.shape][1])
    found = [f"--- gcm-deploy --check: exit code {code}", *told(text, folder)]
    if case.is_right and code:
        found.append(FALSE_ALARM)
    return found


def record(case: Case, checkout: Checkout, *, waits: bool, checks: bool) -> list[str]:
    """Run a case, and return what is told of it."""
    with tempfile.TemporaryDirectory(prefix="explained-waits-") as name:
        folder = Path(name).resolve()
        begin = BEGIN.format(comm=SHAPES[case.shape][0])
        (folder / "program.py").write_text(begin + case.text, encoding="utf-8")
        (folder / "codes.xml").write_text(CODES, encoding="utf-8")
        found = waits_of(case, checkout, folder) if waits else []
        if checks:
            found += check_of(case, checkout, folder)
    return found


def main(words: Sequence[str]) -> int:
    """Record all cases that are asked for, in their order."""
    parser = argparse.ArgumentParser(prog="python -m tools.explained_waits")
    parser.add_argument("--checkout", type=Path, default=ROOT)
    parser.add_argument("--only", default="")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--waits", action="store_true")
    given = parser.parse_args(words)
    both = given.checks == given.waits
    chosen = [
        one
        for one in cases(PROGRAMS.read_text("utf-8"))
        if given.only in str(one) and one.shape in given.shapes.split(",")
    ]
    checkout = Checkout(given.checkout.resolve())
    begun, false_alarms = time.monotonic(), 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for case, lines in zip(
            chosen,
            pool.map(
                lambda one: record(
                    one, checkout, waits=both or given.waits, checks=both or given.checks
                ),
                chosen,
            ),
            strict=True,
        ):
            print(f"=== {case}", *lines, "", sep="\n", flush=True)
            false_alarms += FALSE_ALARM in lines
    seconds = time.monotonic() - begun
    print(f"{len(chosen)} programs, {false_alarms} false alarms, {seconds:.0f} s", file=sys.stderr)
    return 1 if false_alarms else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
