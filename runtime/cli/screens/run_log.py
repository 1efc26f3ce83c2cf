"""The log of a run: a file that a failed run leaves behind, whose name is the last line it prints.

It has each change of the run, of a cluster and of a rank, the commands that were started here and
by front-ends, with their processes, and what was logged besides. Values of environment variables
are never logged, nor is what goes to a process over its standard input.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from runtime.cli.errors import OutputFailed
from runtime.cli.streams import own_file
from runtime.shown_text import shown_lines

_log = logging.getLogger(__name__)

MOST_KEPT = 20
"""So many logs of failed runs stay; older ones go."""

MOST_RECORDS = 200_000
"""What far ends make a run log may have no end, and its file must."""

_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)s %(message)s"


class RunLog:
    """One log, which only its owner can read.

    Without a `path` it is in the folder of logs, and `close` removes it unless it `stays`; where
    that folder cannot be written to there is none.
    """

    def __init__(self, path: str = "", level: str = "info") -> None:
        """Make the file, or empty it; raises `OutputFailed` for a `path` that cannot be written."""
        self.stays = False
        """Whether the run has failed in a way that the log may explain."""
        self._is_asked_for = bool(path)
        self._level = min(logging.INFO, getattr(logging, level.upper()))
        self._path = path or str(_folder() / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log")
        self._handler: logging.StreamHandler[TextIO] | None = None
        try:
            if not path:
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            file = own_file(self._path)
        except OSError as error:
            if path:
                why = f"the log cannot be written there: {error.strerror}"
                raise OutputFailed(why, place=path) from error
            return
        stream: TextIO = TextIOWrapper(file, encoding="utf-8")
        self._handler = handler = _LogFile(stream, self._path)
        handler.setLevel(self._level)
        left = iter(range(MOST_RECORDS))
        handler.addFilter(lambda _: next(left, None) is not None)
        handler.setFormatter(_Cleaned(_FORMAT, "%Y-%m-%d %H:%M:%S"))

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Take what is logged inside the block."""
        root = logging.getLogger("runtime")
        before = root.level
        if self._handler is not None:
            root.addHandler(self._handler)
            root.setLevel(min(self._level, root.getEffectiveLevel()))
        try:
            yield
        finally:
            if self._handler is not None:
                root.removeHandler(self._handler)
            root.setLevel(before)

    def close(self) -> str:
        """Close it; return its path if it `stays`."""
        if self._handler is None:
            return ""
        with suppress(OSError):  # a full disk, which has been told of otherwise
            self._handler.stream.close()
        if self.stays:
            _remove_older(_folder())
            return self._path
        if not self._is_asked_for:
            with suppress(OSError):
                os.unlink(self._path)
        return ""


class _LogFile(logging.StreamHandler[TextIO]):
    """Writes records until the first that cannot be written, which it tells once."""

    def __init__(self, stream: TextIO, path: str) -> None:
        super().__init__(stream)
        self._path = path
        self._has_failed = False
        self.addFilter(lambda _: not self._has_failed)

    def handleError(self, record: logging.LogRecord) -> None:
        """Write no more, and let other handlers tell why."""
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        self._has_failed = True
        _log.warning("%s: the log ends here: %s", self._path, error.strerror)


class _Cleaned(logging.Formatter):
    """Formats a record, in which far ends may have written what would steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return shown_lines(super().format(record))


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(state, "gcm", "logs")


def _remove_older(folder: Path) -> None:
    with suppress(OSError):
        for old in sorted(folder.glob("*.log"))[:-MOST_KEPT]:
            old.unlink()
