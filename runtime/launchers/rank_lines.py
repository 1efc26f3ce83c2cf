"""Telling apart again what the ranks of one `mpiexec` say."""

from __future__ import annotations

import re
from collections.abc import Callable

from runtime.launchers.base import Stream
from runtime.launchers.lines import Lines

_RECORD = re.compile(r"\x1e(\d+) ([oex])([.+]) (.*)", re.DOTALL)
_END = "x"
_OPEN_MPI_TAG = re.compile(r"\[\d+,(\d+)\]<std(out|err)>: ?")
_STREAMS = {"o": Stream.OUTPUT, "e": Stream.ERROR, "out": Stream.OUTPUT, "err": Stream.ERROR}


class RankLines:
    """A sink that calls with rank, stream and line; the rank is None when `mpiexec` itself speaks.

    `ended` is called with a rank and what its parent process told about the end of it.

    >>> sink = RankLines(lambda rank, stream, line: print(rank, stream, line))
    >>> sink.received(Stream.ERROR, b"\\x1e3 o. hello\\nmpiexec: oh\\n")
    3 stdout hello
    None stderr mpiexec: oh
    """

    def __init__(
        self,
        call: Callable[[int | None, Stream, str], None],
        ended: Callable[[int, str], None] = lambda _rank, _words: None,
    ) -> None:
        self._call = call
        self._ended = ended
        self._lines = Lines(self._take)
        self._begun: dict[tuple[int, Stream], str] = {}
        self.received = self._lines.received

    def finished(self) -> None:
        """Pass on what never got its newline."""
        self._lines.finished()
        begun, self._begun = self._begun, {}
        for (rank, stream), line in begun.items():
            self._call(rank, stream, line)

    def _take(self, stream: Stream, line: str) -> None:
        rank: int | None = None
        tag = _OPEN_MPI_TAG.match(line)
        if tag is not None:
            line = line[tag.end() :]
            rank, stream = int(tag[1]), _STREAMS[tag[2]]
        record = _RECORD.fullmatch(line)
        if record is None:
            if line or tag is None:
                self._call(rank, stream, line)
            return
        if record[2] == _END:
            self._ended(int(record[1]), record[4])
            return
        key = int(record[1]), _STREAMS[record[2]]
        text = self._begun.pop(key, "") + record[4]
        if record[3] == "+":
            self._begun[key] = text
        else:
            self._call(*key, text)
