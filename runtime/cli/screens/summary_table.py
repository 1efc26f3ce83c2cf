"""The summary of a run as tables on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runtime.views.summary import Summary, as_text, headline, tables

NARROW = 80


def print_summary(summary: Summary, console: Console) -> None:
    """Print headline and tables; on a narrow terminal without cutting the columns."""
    if console.width < NARROW:
        console.print(Text(as_text(summary)), end="", soft_wrap=True)
        return
    console.print(Text(headline(summary), style="bold red" if summary.code else "bold green"))
    for table in tables(summary):
        console.print()
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for number, name in enumerate(table.heading):
            shown.add_column(name, justify="right" if number in table.numbers else "left")
        for row in table.rows:
            shown.add_row(*map(Text, row))
        console.print(shown)
