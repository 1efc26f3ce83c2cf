"""What it takes to print 200 MB: `gcm-deploy --quiet`, and plain `mpiexec` with the same program.

    python -m benchmarks.output                            all cases
    python -m benchmarks.output lines tags --turns 5

Eight ranks of four emulated clusters print; what they print goes to a file, or to a pipe that is
read at once. Both take turns, and what counts is the whole run with its start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console

from benchmarks.grid.networks import ROOT
from benchmarks.report import Goal, Line, duration, show

MOST = 1.2
MEGABYTES = 200
RANKS = 8
PROGRAM = """\
import sys
from mpi4py import MPI
world, size, width, flush = MPI.COMM_WORLD, int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "yes"
line = f"{world.rank} " + "x" * (width - 3)
for number in range(size // world.size // width):
    print(line, flush=flush)
"""
DESCRIPTOR = """<deployment name="output"><application script="program.py"/>
<emulate sites="2" clusters="2" ranks="2"/></deployment>
"""


@dataclass(frozen=True, slots=True)
class Case:
    """How the ranks print, and what is asked of `gcm-deploy` beside showing it."""

    title: str
    width: int = 80
    flush: str = "no"
    options: tuple[str, ...] = ()
    to_pipe: bool = False
    megabytes: int = MEGABYTES


CASES = {
    "start": Case("nothing, so the start alone", megabytes=0),
    "lines": Case("lines of 80 bytes, to a file"),
    "pipe": Case("the same to a pipe", to_pipe=True),
    "flushed": Case("each line flushed", flush="yes"),
    "long": Case("lines of 100 kB", width=100_000),
    "tags": Case("--tag-output", options=("--tag-output",)),
    "files": Case("--output-dir too", options=("--output-dir", "logs")),
}


def seconds(words: Sequence[str], folder: Path, case: Case) -> float:
    """Return how long a command takes whose output goes to a file, or to a pipe."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        open(folder / "out", "wb") as file,
        subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if case.to_pipe else file,
        ) as process,
    ):  # fmt: skip
        size = 0
        while process.stdout is not None and (data := process.stdout.read(1 << 16)):
            size += len(data)
        if process.wait():
            sys.exit(f"benchmarks.output: {' '.join(words)} ended with {process.returncode}")
    took = time.perf_counter() - began
    size = size or (folder / "out").stat().st_size
    if size < 0.99 * case.megabytes * 1e6:
        sys.exit(f"benchmarks.output: {' '.join(words)} printed {size} bytes")
    return took


def measured(case: Case, turns: int) -> Mapping[str, list[float]]:
    """Return the seconds that each way took in each turn."""
    printing = (str(case.megabytes * 1_000_000), str(case.width), case.flush)
    python = Path(sys.executable)
    with tempfile.TemporaryDirectory(prefix="gcm-bench-") as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM, "utf-8")
        (folder / "output.xml").write_text(DESCRIPTOR, "utf-8")
        ways = {
            "mpiexec": [
                str(python.parent / "mpiexec"), "-n", str(RANKS), sys.executable, "program.py",
                *printing,
            ],
            "ours": [
                sys.executable, "-m", "runtime.cli", "--quiet", *case.options, "output.xml", "--",
                *printing,
            ],
        }  # fmt: skip
        found: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(turns):
            for way, words in ways.items():
                found[way].append(seconds(words, folder, case))
    return found


def line(case: Case, found: Mapping[str, list[float]]) -> Line:
    """Return what was found as a line of the table.

    >>> line(CASES["tags"], {"ours": [2.0, 2.2, 9.0], "mpiexec": [2.0, 2.0, 2.0]}).ratio
    '1.10 x (least 1.00)'
    """
    ratios = [one / other for one, other in zip(found["ours"], found["mpiexec"], strict=True)]
    return Line(
        case.title,
        duration(median(found["ours"])),
        f"mpiexec: {duration(median(found['mpiexec']))}",
        f"{median(ratios):.2f} x (least {min(ratios):.2f})",
        Goal(MOST, median(ratios), "x") if case.megabytes else None,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.output", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args(argv)
    if unknown := [one for one in options.cases if one not in CASES]:
        parser.error(f"unknown: {', '.join(unknown)}")
    console = Console(width=max(110, Console().width))
    lines = [
        line(CASES[name], measured(CASES[name], options.turns))
        for name in options.cases or list(CASES)
    ]
    show(f"{MEGABYTES} MB printed by {RANKS} ranks", lines, console)


if __name__ == "__main__":
    main()
