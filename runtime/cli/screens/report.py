"""A run as a page for a browser, in a file at its end or served while it runs, and as a trace."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec

from runtime.cli.errors import OutputFailed
from runtime.cli.screens.recording import written_where_possible
from runtime.cli.streams import own_file
from runtime.views.facts import Fact
from runtime.views.otf2_archive import write_archive
from runtime.views.page import page_of
from runtime.views.page.server import PageServer, PageState
from runtime.views.run_view import RunView
from runtime.views.trace import Trace


class FoldedFile:
    """Folds facts of a run, and writes what is made of them at its end; only its owner may read it.

    `take` gets each fact, `contents` returns what is written.
    """

    pause = 0.2
    refresh_interval = None

    def __init__(
        self, path: str, take: Callable[[Fact], None], contents: Callable[[], Iterable[bytes]]
    ) -> None:
        """Make the file, or empty it; raises `OutputFailed`."""
        self._take, self._contents = take, contents
        with written_where_possible(path):
            self._file = own_file(path)

    def show(self, facts: Sequence[Fact]) -> None:
        """Take note of facts."""
        for fact in facts:
            self._take(fact)

    def close(self) -> None:
        """Write the file."""
        with self._file:
            self._file.writelines(self._contents())


def report_file(path: str) -> FoldedFile:
    """Return the file of a page about a run; raises `OutputFailed`."""
    view = RunView()

    def page() -> list[bytes]:
        return [page_of(view.document(), view.output()).encode(errors="replace")]

    return FoldedFile(path, view.take, page)


class TraceArchive:
    """Makes a trace of the facts of a run and writes it as OTF2, into a new folder of its owner."""

    pause = 0.2
    refresh_interval = None

    def __init__(self, path: str) -> None:
        """Make the folder; raises `OutputFailed`, also where the package otf2 is not installed."""
        if find_spec("otf2") is None:
            raise OutputFailed(
                "a trace in OTF2 is written by the package otf2, which is not installed",
                place=path,
                cure="Run 'pip install gcm-grid[otf2]', or name a file that does not end in .otf2",
            )
        self._path = path
        self._trace = Trace()
        with written_where_possible(path):
            os.mkdir(path, 0o700)

    def show(self, facts: Sequence[Fact]) -> None:
        """Take note of facts."""
        for fact in facts:
            self._trace.take(fact)

    def close(self) -> None:
        """Write the archive."""
        write_archive(self._trace.events(), self._path)


def trace_file(path: str) -> FoldedFile | TraceArchive:
    """Return what writes a trace there, in the format that the name says; raises `OutputFailed`."""
    if path.endswith(".otf2"):
        return TraceArchive(path)
    trace = Trace()
    return FoldedFile(path, trace.take, trace.lines)


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
                self._begun = min(self._begun, time.monotonic() - fact.time)  # it began before
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
