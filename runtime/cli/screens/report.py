"""Writes a page about a run when it has ended: the file of `--report`."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cli.screens.recording import own_file, written_where_possible
from runtime.views.facts import Fact
from runtime.views.page import page_of
from runtime.views.run_view import RunView
from runtime.views.stream import nothing


class ReportFile:
    """Hears the facts of a run and writes its report; only its owner may read that."""

    def __init__(self, path: str) -> None:
        """Make the file, or empty it; raises `OutputFailed`."""
        self._path = path
        self._view = RunView()
        with written_where_possible(path):
            self._file = own_file(path)

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Take note of a fact."""
        self._view.take(fact)
        taken()

    def close(self) -> str:
        """Write the report; return a message if it could not be."""
        try:
            with self._file:
                self._file.write(report_of(self._view).encode(errors="replace"))
        except OSError as error:
            return f"{self._path}: the report could not be written: {error.strerror}"
        return ""


def report_of(view: RunView) -> str:
    """Return the report of a run as it is known."""
    return page_of(view.document(), view.output())
