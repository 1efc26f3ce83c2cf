"""The output of ranks: to a shared stream, to a file of each rank, or both."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

from gcm.records import dataclass
from runtime.cli.errors import OutputFailed
from runtime.launchers.base import OutputStream
from runtime.part_names import is_cluster
from runtime.topology import RankNames
from runtime.views.facts import TRACEBACK, Fact, OutputWritten

MOST_OPEN = 128
"""How many files are open at once; systems allow some hundreds."""


@dataclass(frozen=True, slots=True)
class OutputChoice:
    """Which output a screen shows; the files of the ranks have all of it.

    Every rank's traceback is shown only with `all_tracebacks`, and the output of MPI's launchers
    unless they are to be `quiet`.
    """

    all_tracebacks: bool = True
    quiet: bool = False

    def has(self, name: str, output: OutputWritten) -> bool:
        """Return whether some output is shown."""
        if output.stream == TRACEBACK:
            return self.all_tracebacks
        return not (self.quiet and is_cluster(name))  # the `mpiexec` of a cluster


def stream_of(output: OutputWritten) -> OutputStream:
    """Return the stream to which some output is written."""
    is_output = output.stream == OutputStream.OUTPUT
    return OutputStream.OUTPUT if is_output else OutputStream.ERROR


class RankFiles:
    """One file for each rank and stream below a folder, made when its first output comes.

    It is a screen beside that of the run. Output is written without buffering, so that the files
    can be followed. `close` them at the end.
    """

    pause = 0.0
    refresh_interval = None

    def __init__(self, folder: Path, most_open: int = MOST_OPEN) -> None:
        self.folder = folder
        self._most_open = most_open
        self._begun: set[Path] = set()
        self._open: OrderedDict[Path, FileIO] = OrderedDict()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _failed(folder, error) from error

    def path(self, rank: str, stream: OutputStream) -> Path:
        """Return the file of a rank's or a node's stream, such as `0.1.2.stdout`."""
        return self.folder / f"{re.sub('[:/]', '.', rank)}.{stream}"

    def show(self, facts: Iterable[Fact]) -> None:
        """Append the output that is among some facts; raises `OutputFailed`."""
        for fact in facts:
            if isinstance(fact.record, OutputWritten):
                self.write(fact.name, stream_of(fact.record), fact.record.data)

    def write(self, rank: str, stream: OutputStream, data: bytes) -> None:
        """Append some output; raises `OutputFailed`."""
        path = self.path(rank, stream)
        try:
            file, rest = self._file(path), memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            raise _failed(path, error) from error

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _file(self, path: Path) -> FileIO:
        """Return the open file; what an earlier run has left in it is overwritten."""
        file = self._open.pop(path, None)
        if file is None:
            file = path.open("ab" if path in self._begun else "wb", buffering=0)
            self._begun.add(path)
        self._open[path] = file
        if len(self._open) > self._most_open:
            self._open.popitem(last=False)[1].close()
        return file


class SharedStream:
    """Makes one stream of the output of many, whose lines stay whole.

    A newline is inserted where another rank writes after an unfinished line.

    With `names` lines are tagged with the numbers of ranks, else with the texts of their names.

    >>> stream = SharedStream(tags=True)
    >>> stream.output("0:0:1", b"one\\ntw"), stream.output("0:0:1", b"o\\nthree")
    (b'[0:0:1] one\\n[0:0:1] tw', b'o\\n[0:0:1] three')
    >>> stream.output("0:0:2", b"x\\n"), stream.word("news")
    (b'\\n[0:0:2] x\\n', b'news\\n')
    """

    def __init__(self, *, tags: bool, names: RankNames | None = None) -> None:
        self._tags = tags
        self._names = names or RankNames()
        self._begun = ""  # whose unfinished line is the last

    def output(self, rank: str, data: bytes) -> bytes:
        """Return what to write for some output of a rank, which is not empty."""
        goes_on = self._begun == rank
        before = b"" if goes_on else self.end_line()
        self._begun = "" if data.endswith(b"\n") else rank
        if not self._tags:
            return before + data
        return before + tagged(self._names.tag(rank), data, goes_on=goes_on)

    def word(self, text: str) -> bytes:
        """Return what to write for a line that is not from a rank."""
        return self.end_line() + encoded(text)

    def end_line(self) -> bytes:
        """Return what to write so that the next thing begins on a line of its own."""
        begun, self._begun = self._begun, ""
        return b"\n" if begun else b""


def tagged(rank: str, data: bytes, *, goes_on: bool = False) -> bytes:
    """Return lines that begin with the rank they came from; the first one may be continued.

    >>> tagged("2", b"one\\ntwo\\n")
    b'[2] one\\n[2] two\\n'
    """
    tag = f"[{rank}] ".encode()
    inner = data.count(b"\n", 0, -1)
    return (b"" if goes_on else tag) + data.replace(b"\n", b"\n" + tag, inner)


def encoded(line: str) -> bytes:
    """Return a line as bytes, with its newline; what UTF-8 cannot encode becomes `?`."""
    return f"{line}\n".encode(errors="replace")


def _failed(path: Path, error: OSError) -> OutputFailed:
    return OutputFailed(
        f"cannot write there: {error.strerror}",
        place=str(path),
        cure="Choose another folder with --output-dir",
    )
