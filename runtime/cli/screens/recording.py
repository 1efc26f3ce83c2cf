"""Records the facts of a run in a file, beside what the screen shows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from runtime.cli.errors import OutputFailed
from runtime.cli.screens.printer import Printer, Screen
from runtime.cli.streams import own_file
from runtime.views.fact_lines import heading, line_of
from runtime.views.facts import Fact
from runtime.views.stream import nothing


@contextmanager
def written_where_possible(path: str) -> Iterator[None]:
    """Raise `OutputFailed` where the block cannot write to a file."""
    try:
        yield
    except OSError as error:
        cure = "Name a file in a folder that is there and may be written to"
        if isinstance(error, FileExistsError):
            cure = "Remove it, or choose another name"
        raise OutputFailed(
            f"the run cannot be recorded there: {error.strerror}", place=path, cure=cure
        ) from error


class FactFile:
    """A file that has the facts of one run, one in a line; only its owner may read it."""

    pause = 0.2
    refresh_interval = None

    def __init__(self, path: str) -> None:
        """Make the file, or empty it; raises `OutputFailed`."""
        with written_where_possible(path):
            self._file = own_file(path)
            self._file.write(heading())
            self._file.flush()

    def show(self, facts: Sequence[Fact]) -> None:
        """Append facts."""
        self._file.writelines(map(line_of, facts))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Recording:
    """Records a run from a thread of its own. A file that cannot be written ends no run."""

    def __init__(self, path: str, screen: Screen) -> None:
        """Let a screen record the run in a file."""
        self.path = path
        self._failures: list[Exception] = []
        self._printer = Printer(screen, self._failures.append)

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Record a fact soon; after a failure only take it."""
        self._printer.hear(fact, taken)

    def close(self) -> str:
        """Wait until all is recorded; return a message if it could not be."""
        self._printer.close()
        if not self._failures:
            return ""
        why = getattr(self._failures[0], "strerror", None) or str(self._failures[0])
        return f"{self.path}: the run could not be recorded to its end: {why}"
