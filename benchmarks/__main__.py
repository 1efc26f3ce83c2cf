"""`make bench`: everything in one run, or named parts; pictures in build/benchmarks."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import (
    actors,
    assemblies,
    calls,
    front_ends,
    mpi,
    output,
    plot,
    startup,
    streams,
    wire,
)
from benchmarks.grid import missing
from benchmarks.report import Goal, Line, show

PICTURES = Path("build/benchmarks")
PARTS = ("components", "startup", "wire", "streams", "front-ends", "output", "mpi")


def main() -> None:
    """Run the benchmarks; a goal that is missed is marked, and no error: machines differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none")
    parser.add_argument(
        "--brief", action="store_true", help="the wire and MPI once, and not for long"
    )
    options = parser.parse_args()
    wanted = options.parts or PARTS
    less = ["--turns", "1", "--seconds", "0.3"] if options.brief else []
    if unknown := [part for part in wanted if part not in PARTS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    console = Console(width=max(100, Console().width))
    if "components" in wanted:
        components(console)
    if "startup" in wanted:
        startup.main(3 if options.brief else startup.ROUNDS)
    if "wire" in wanted:
        wire.main(less)
    if "streams" in wanted:
        streams.main(["--turns", "1"] if options.brief else [])
    if "front-ends" in wanted:
        front_ends.main([])
    if "output" in wanted:
        output.main(["--turns", "1"] if options.brief else [])
    if "mpi" in wanted:
        if lacking := missing():
            console.print(f"MPI over several clusters: {lacking}", style="yellow")
        else:
            mpi.main(less)


def components(console: Console) -> None:
    """Measure the component model against plain Python and other libraries."""
    console.print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}. Medians; every case and its peer take turns.\n"
    )
    found: list[Line] = []
    for title, measure in (("Calls", calls.measured), ("Active objects", actors.measured)):
        lines = measure()
        show(title, lines, console)
        found += lines
    lines, large = assemblies.measured()
    show("Large documents, by the number of primitives", lines, console)
    found += lines
    _draw(found, large)
    console.print(f"Pictures: {PICTURES}/goals.svg, {PICTURES}/large-documents.svg\n")


def _draw(found: Sequence[Line], large: Sequence[assemblies.Large]) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    goals = {line.what: _share(line.goal) for line in found if line.goal}
    (PICTURES / "goals.svg").write_text(
        plot.bars("Parts of what the goals allow; up to 1 is met", goals), "utf-8"
    )
    series = {
        name: [1e6 * getattr(one, name) / one.primitives for one in large]
        for name in ("check", "assemble", "start")
    }
    sizes = [one.primitives for one in large]
    (PICTURES / "large-documents.svg").write_text(
        plot.lines("Time per component over the number of them", "µs", sizes, series), "utf-8"
    )


def _share(goal: Goal) -> float:
    return goal.limit / goal.figure if goal.at_least else goal.figure / goal.limit


if __name__ == "__main__":
    main()
