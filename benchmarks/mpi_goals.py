"""What point to point should be beside flat native MPI, as ratios within one table; pure."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.mpi_rows import OURS, Found, size_of
from benchmarks.report import Goal, Line, duration

SMALL = 64 << 10
"""Up to this size latency counts."""

LARGE = 1 << 20
"""From this size on bandwidth counts."""

MOST_TIME = 1.15
LEAST_BANDWIDTH = 1.0
NATIVE = "MPICH"


def against_native(found: Found) -> list[Line]:
    """Return each goal that there are figures for."""
    return list(_lines(found))


def _lines(found: Found) -> Iterator[Line]:
    for row in found.rows:
        native = {name: one for name, one in row.columns.items() if name.startswith(NATIVE)}
        ours = row.columns.get(OURS)
        if not (ours and native):
            continue
        name = min(native, key=native.__getitem__)
        peer = f"{name}: {duration(native[name])}"
        if row.size <= SMALL:
            goal = Goal(MOST_TIME, ours / native[name])
            what, figure = f"time of {size_of(row.size)}", duration(ours)
        elif row.size >= LARGE:
            goal = Goal(LEAST_BANDWIDTH, native[name] / ours, at_least=True)
            what = f"bandwidth of {size_of(row.size)}"
            figure = f"{row.size / ours / 1e6:.0f} MB/s"
        else:
            continue
        yield Line(what, figure, peer, f"{goal.figure:.2f} x", goal)
