"""What the benchmarks found, as one table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure has to be, and what it is."""

    limit: float
    figure: float
    unit: str = "x"
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the figure is on the right side of its limit."""
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit

    def __str__(self) -> str:
        """Return the limit with its side and its unit."""
        return f"{'≥' if self.at_least else '≤'} {self.limit:g} {self.unit}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: what, how much, against whom, and the goal where there is one."""

    what: str
    figure: str
    peer: str = ""
    ratio: str = ""
    goal: Goal | None = None


def show(title: str, lines: Sequence[Line], console: Console) -> None:
    """Print one table."""
    table = Table(title=title, title_justify="left", show_edge=False, header_style="bold")
    table.add_column("measured")
    table.add_column("figure", justify="right")
    table.add_column("peer in the same run")
    table.add_column("ratio", justify="right")
    table.add_column("goal", justify="right")
    table.add_column("")
    for line in lines:
        table.add_row(line.what, line.figure, line.peer, line.ratio, *_judged(line.goal))
    console.print(table)
    console.print()


def _judged(goal: Goal | None) -> tuple[str, str]:
    if goal is None:
        return "", ""
    return str(goal), "[green]met[/]" if goal.is_met else "[bold red]missed[/]"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> duration(0.0000025)
    '2.5 µs'
    """
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.2f} s"
