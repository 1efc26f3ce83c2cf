"""Prints tables of rows with rich: in colour on a terminal, plain elsewhere."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.table import Table

from benchmarks.mpi_rows import ALLOWED_OVER_FLOOR, OURS, Found, Row, size_of
from benchmarks.report import duration

LATE = 0.0005


def show(found: Found, console: Console) -> None:
    """Print one table, and below it what could not be measured and why."""
    console.print(table(found))
    if found.tails:
        console.print(table(replace(found, title="The same, 95th percentile", rows=found.tails)))
    for name, fault in found.faults.items():
        console.print(f"  {name}: {fault}", style="yellow", markup=False, highlight=False)
    if found.late > LATE:
        console.print(
            f"  packets were {duration(found.late)} late on average: this machine was too busy",
            style="yellow",
        )
    console.print()


def table(found: Found) -> Table:
    """Return the table of what was found."""
    made = Table(title=found.title, title_justify="left", show_edge=False, header_style="bold")
    made.add_column("measured", no_wrap=True)
    for name in ("floor", *found.columns):
        made.add_column(name, justify="right")
    compares = len(found.columns) > 1 or any(row.floor for row in found.rows)
    if compares:
        made.add_column(f"{OURS} / floor", justify="right")
        made.add_column(f"{OURS} / best peer", justify="right")
    if found.has_goals:
        made.add_column(f"≤ {ALLOWED_OVER_FLOOR} x floor, ahead")
    for row in found.rows:
        cells = [f"{row.what} {size_of(row.size)}", _figure(row.floor, row)]
        cells += [_figure(row.columns.get(name), row) for name in found.columns]
        if compares:
            cells += [_ratio(row.over_floor), _ratio(row.over_peer)]
        if found.has_goals:
            cells.append(_judged(row))
        made.add_row(*cells)
    return made


def _figure(value: float | None, row: Row) -> str:
    if value is None:
        return "-"
    return duration(value) if row.unit == "s" else f"{value / 1e6:.1f} MB"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} x"


def _judged(row: Row) -> str:
    if row.is_met is None:
        return "-"
    return "[green]met[/]" if row.is_met else "[bold red]missed[/]"
