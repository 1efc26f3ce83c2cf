"""`make bench`: everything in one run, as tables and as two pictures in build/benchmarks."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import actors, assemblies, calls, plot
from benchmarks.report import Goal, Line, show

PICTURES = Path("build/benchmarks")


def main() -> None:
    """Run all benchmarks; a goal that is missed is marked, and no error: machines differ."""
    console = Console(width=max(100, Console().width))
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
    console.print(f"Pictures: {PICTURES}/goals.svg, {PICTURES}/large-documents.svg")


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
