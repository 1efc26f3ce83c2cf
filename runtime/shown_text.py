"""Text of others, such as names of files and answers of hosts, as it may be shown and logged.

Somebody else's text could move the cursor of a terminal, hide what stands there, or add a line to
a log that looks like one of ours. What ranks write is not meant: it is the program's own output.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

LONGEST = 80
LONGEST_CELL = 400
_INDENT = "    "


def shown(text: str, most: int = LONGEST) -> str:
    r"""Return a text on one line, and shortened; what cannot be printed is written as in Python.

    >>> print(shown("gate\nUser x\x1b[2J"), shown("x" * 90, 4))
    gate\nUser x\x1b[2J xxxx...
    """
    visible = _visible(text[: most + 1])
    return f"{visible[:most]}..." if len(text) > most or len(visible) > most else visible


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return some names as a sentence has them, and how many are left out.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 2)
    ('a, b, c', 'a, b and 1 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shown_lines(text: str) -> str:
    r"""Return a text of several lines in which nothing but their ends is no printable character.

    >>> shown_lines("one\x07\ntwo\r\u202e")
    'one\\x07\ntwo\\r\\u202e'
    """
    return "\n".join(map(_visible, text.split("\n")))


def shown_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Collection[int] = (),
    width: int = 0,
) -> str:
    r"""Return a table with its columns below their heads; the columns of `numbers` end alike.

    Where that is wider than a terminal of `width` columns, each row takes some lines instead: its
    first cell, and below it the others, each behind its head. 0 is any width.

    >>> print(shown_table(["host", "ms"], [("desk7", 0.2)], numbers={1}), end="")
    host    ms
    desk7  0.2
    >>> print(shown_table(["host", "ms"], [("desk7", 0.2)], width=9), end="")
    desk7
        ms: 0.2
    """
    cells = [[shown(str(one), LONGEST_CELL) for one in row] for row in rows]
    lines = [list(heads), *cells] if any(heads) else cells
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if width and sum(widths) + 2 * (len(widths) - 1) > width:
        return "".join(f"{line}\n" for row in cells for line in _folded(heads, row, width))
    aligned = (
        [
            cell.rjust(most) if at in numbers else cell.ljust(most)
            for at, (cell, most) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    )
    return "".join("  ".join(line).rstrip() + "\n" for line in aligned)


def _folded(heads: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    """Yield the lines of one row; a cell is never cut in two."""
    yield row[0]
    line = ""
    for head, cell in zip(heads[1:], row[1:], strict=True):
        if not cell:
            continue
        told = f"{head}: {cell}" if head else cell
        if line and len(line) + 2 + len(told) > width:
            yield line
            line = ""
        line = f"{line}  {told}" if line else f"{_INDENT}{told}"
    if line:
        yield line


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
