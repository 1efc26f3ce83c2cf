"""A run as a page for a browser, in a file at its end or served while it runs, and as a trace."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from runtime.cli.screens.recording import written_where_possible
from runtime.cli.streams import own_file
from runtime.views.facts import Fact
from runtime.views.page import page_of
from runtime.views.page.server import PageServer, PageState
from runtime.views.run_view import RunView
from runtime.views.trace import Trace


class ReportFile:
    """Makes a report of the facts of a run and writes it; only its owner may read that."""

    pause = 0.2
    refresh_interval = None

    def __init__(self, path: str) -> None:
        """Make the file, or empty it; raises `OutputFailed`."""
        self._view = RunView()
        with written_where_possible(path):
            self._file = own_file(path)

    def show(self, facts: Sequence[Fact]) -> None:
        """Take note of facts."""
        for fact in facts:
            self._view.take(fact)

    def close(self) -> None:
        """Write the report."""
        with self._file:
            page = page_of(self._view.document(), self._view.output())
            self._file.write(page.encode(errors="replace"))


class TraceFile:
    """Makes a trace of the facts of a run and writes it; only its owner may read that."""

    pause = 0.2
    refresh_interval = None

    def __init__(self, path: str) -> None:
        """Make the file, or empty it; raises `OutputFailed`."""
        self._trace = Trace()
        with written_where_possible(path):
            self._file = own_file(path)

    def show(self, facts: Sequence[Fact]) -> None:
        """Take note of facts."""
        for fact in facts:
            self._trace.take(fact)

    def close(self) -> None:
        """Write the trace."""
        with self._file:
            self._file.writelines(self._trace.lines())


class LivingPage:
    """Serves the page of a run that goes on, until `close`; its time goes on by itself."""

    pause = 0.1
    refresh_interval = None

    def __init__(self, port: int = 0) -> None:
        """Open the port; raises OSError if it is taken."""
        self._view = RunView()
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._is_over = False
        self.server = PageServer("a run", self._look, port)

    def show(self, facts: Sequence[Fact]) -> None:
        """Take facts, which browsers are told soon."""
        with self._lock:
            for fact in facts:
                self._view.take(fact)

    def end(self) -> None:
        """Tell browsers that nothing more will change."""
        self._is_over = True

    def close(self) -> None:
        """Tell browsers how it ended, and serve no more."""
        self.end()
        self.server.close()

    def _look(self, after: int) -> PageState:
        is_over = self._is_over
        with self._lock:
            now = None if is_over else time.monotonic() - self._begun
            return PageState(
                self._view.document(now), self._view.output(after), self._view.lines, is_over
            )
