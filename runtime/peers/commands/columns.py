"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.shown_text import shown

MOST = 400
"""The characters of a cell."""


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a table with its columns below their heads.

    >>> columns(["host", "ms"], [("desk7", 0.2)])
    'host   ms\ndesk7  0.2\n'
    """
    lines = [list(heads), *([shown(str(one), MOST) for one in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(one.ljust(width) for one, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )
