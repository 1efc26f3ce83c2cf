"""Where each line of the application goes: to a stream of ours, to a file of its rank, or both."""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path
from typing import BinaryIO

from runtime.cli.streams import OutputFailed
from runtime.launchers.base import Stream

MOST_OPEN = 128
"""How many files are open at once, of which a system allows some hundreds."""


class RankFiles:
    """One file for each rank and stream below a folder, made when its first line comes.

    Each line is handed to the system as it comes, so that the files can be followed. `close` them
    in the end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._begun: set[Path] = set()
        self._open: OrderedDict[Path, BinaryIO] = OrderedDict()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _failed(folder, error) from error

    def path(self, rank: str, stream: Stream) -> Path:
        """Return the file of a rank's or a node's stream, such as `0.1.2.stdout`."""
        return self.folder / f"{re.sub('[:/]', '.', rank)}.{stream}"

    def write(self, rank: str, stream: Stream, line: str) -> None:
        """Append a line; raises `OutputFailed`."""
        path = self.path(rank, stream)
        try:
            self._file(path).write(encoded(line))
        except OSError as error:
            raise _failed(path, error) from error

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _file(self, path: Path) -> BinaryIO:
        """Return the file, open; what an earlier run has left in it is overwritten."""
        file = self._open.pop(path, None)
        if file is None:
            file = path.open("ab" if path in self._begun else "wb", buffering=0)
            self._begun.add(path)
        self._open[path] = file
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return file


def tagged(rank: str, line: str) -> str:
    """Return a line that begins with the rank it came from.

    >>> tagged("0:1:2", "hello")
    '[0:1:2] hello'
    """
    return f"[{rank}] {line}"


def encoded(line: str) -> bytes:
    """Return a line as bytes, with its newline; what UTF-8 cannot say becomes `?`."""
    return f"{line}\n".encode(errors="replace")


def _failed(path: Path, error: OSError) -> OutputFailed:
    return OutputFailed(
        f"cannot write there: {error.strerror}",
        place=str(path),
        cure="Choose another folder with --output-dir",
    )
