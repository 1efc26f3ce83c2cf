"""What the figures of the wire should be, as ratios within one table; pure."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.echoes.contract import WAYS
from benchmarks.mpi_rows import Found, Row, size_of
from benchmarks.report import Goal, Line, duration

LARGE = 1 << 20
"""From this size on the bandwidth counts: as a share of the peer's."""

LEAST_SHARE = {("post", "tcp"): 0.9, ("tls", "ssl"): 0.9, ("forwarded", "post"): 0.7}
MOST_TIME = {("post", "tcp"): 1.3, ("component", "post"): 1.3, ("component", "msgpack"): 1.0}


def goals(found: Found) -> list[Line]:
    """Return each goal that there are figures for."""
    return [line for row in found.rows for line in (*_shares(row), *_times(row))]


def _shares(row: Row) -> Iterator[Line]:
    if row.size < LARGE:
        return
    for (mine, theirs), limit in LEAST_SHARE.items():
        one, other = _seconds(row, mine), _seconds(row, theirs)
        if one and other:
            goal = Goal(limit, other / one, at_least=True)
            yield _line(row, (mine, one), (theirs, other), goal)


def _times(row: Row) -> Iterator[Line]:
    if row.size != 1:
        return
    for (mine, theirs), limit in MOST_TIME.items():
        one, other = _seconds(row, mine), _seconds(row, theirs)
        if one and other:
            yield _line(row, (mine, one), (theirs, other), Goal(limit, one / other))


def _line(row: Row, mine: tuple[str, float], theirs: tuple[str, float], goal: Goal) -> Line:
    return Line(
        f"{WAYS[mine[0]][0]}, {size_of(row.size)}",
        duration(mine[1]),
        f"{WAYS[theirs[0]][0]}: {duration(theirs[1])}",
        f"{goal.figure:.2f} x",
        goal,
    )


def _seconds(row: Row, way: str) -> float | None:
    return row.floor if way == "tcp" else row.columns.get(WAYS[way][0])
