"""Draws a table whose rows are sizes: by time, and by bandwidth."""

from __future__ import annotations

from pathlib import Path

from benchmarks import plots
from benchmarks.mpi_rows import Found


def by_size(found: Found, stem: Path) -> None:
    """Write `stem`-time.svg and `stem`-rate.svg, if there are any figures."""
    times = {
        name: {row.size: row.columns[name] for row in found.rows if name in row.columns}
        for name in found.columns
    }
    times["plain TCP"] = {row.size: row.floor for row in found.rows if row.floor}
    if not any(times.values()):
        return
    rates = {
        name: {size: size / seconds for size, seconds in one.items()} for name, one in times.items()
    }
    for what, series, unit, factor in (("time", times, "µs", 1e6), ("rate", rates, "MB/s", 1e-6)):
        text = plots.curves(found.title, series, unit=unit, factor=factor)
        stem.with_name(f"{stem.name}-{what}.svg").write_text(text, "utf-8")
