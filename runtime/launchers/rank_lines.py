"""Telling apart again what the ranks of one `mpiexec` say."""

from __future__ import annotations

import re
from collections.abc import Callable

from runtime.launchers.base import OutputStream
from runtime.launchers.lines import BlockCutter
from runtime.launchers.ranks import unescaped

_RECORD = re.compile(rb"\x1e(\d+) ([oex]) (.*)", re.DOTALL)
_END = b"x"
_Speaker = tuple[int | None, OutputStream]
"""A rank, or None for `mpiexec` itself, and where it says something."""

_STREAMS = {
    b"o": OutputStream.OUTPUT,
    b"e": OutputStream.ERROR,
    b"out": OutputStream.OUTPUT,
    b"err": OutputStream.ERROR,
}


class RankLines:
    """A sink that calls with rank, stream and whole lines; `mpiexec` counts from rank `first`.

    The rank is None, and it is a single line, when `mpiexec` itself speaks. `ended` is called with
    a rank and what its parent process told about the end of it. `tag` is how the native MPI begins
    what ranks say, if it does: each line, with Open MPI 4 each piece that it has read of a line.

    >>> sink = RankLines(lambda rank, stream, block: print(rank, stream, block))
    >>> sink.received(OutputStream.ERROR, b"\\x1e3 o hello\\x10n\\nmpiexec: oh\\n")
    3 stdout b'hello\\n'
    None stderr b'mpiexec: oh\\n'
    """

    def __init__(
        self,
        call: Callable[[int | None, OutputStream, bytes], None],
        ended: Callable[[int, str], None] = lambda _rank, _words: None,
        *,
        first: int = 0,
        tag: re.Pattern[bytes] | None = None,
    ) -> None:
        self._call = call
        self._first, self._tag = first, tag
        self._ended = ended
        self._cutters = {stream: BlockCutter() for stream in OutputStream}
        self._ranks: dict[tuple[int, OutputStream], BlockCutter] = {}
        self._tagged: dict[_Speaker, BlockCutter] = {}

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Pass on the lines that are complete now."""
        self._take(stream, self._cutters[stream].feed(data))

    def finished(self) -> None:
        """Pass on what never got its newline."""
        for stream, cutter in self._cutters.items():
            self._take(stream, cutter.finish())
        for speaker, cutter in self._tagged.items():
            self._sort(*speaker, cutter.finish())
        for (rank, stream), cutter in self._ranks.items():
            if rest := cutter.finish():
                self._call(rank, stream, rest)

    def _take(self, stream: OutputStream, block: bytes) -> None:
        for line in _lines(block):
            if self._tag is None:
                self._sort(None, stream, line)
            else:
                self._take_apart(self._tag, stream, line)

    def _take_apart(self, tag: re.Pattern[bytes], stream: OutputStream, line: bytes) -> None:
        """Put pieces of several speakers in one line to what they have said before."""
        speaker: _Speaker = None, stream
        begin = 0
        for found in tag.finditer(line):
            self._said(speaker, line[begin : found.start()])
            speaker, begin = (self._first + int(found[1]), _STREAMS[found[2]]), found.end()
        self._said(speaker, line[begin:])

    def _said(self, speaker: _Speaker, piece: bytes) -> None:
        cutter = self._tagged.setdefault(speaker, BlockCutter())
        if speaker[0] is not None and not cutter.has_begun:
            piece = piece.removeprefix(b" ")  # which Open MPI 5 puts behind a tag
        for line in _lines(cutter.feed(piece)):
            self._sort(*speaker, line)

    def _sort(self, rank: int | None, stream: OutputStream, line: bytes) -> None:
        record = _RECORD.fullmatch(line.removesuffix(b"\n"))
        if record is None:
            if line and (rank is None or line != b"\n"):  # some end each record with such a line
                self._call(rank, stream, line)
            return
        if record[2] == _END:
            self._ended(int(record[1]), record[3].decode())
            return
        key = int(record[1]), _STREAMS[record[2]]
        block = self._ranks.setdefault(key, BlockCutter()).feed(unescaped(record[3]))
        if block:
            self._call(*key, block)


def _lines(block: bytes) -> list[bytes]:
    """Split behind newlines, and nowhere else."""
    *whole, rest = block.split(b"\n")
    return [*(line + b"\n" for line in whole), *([rest] if rest else [])]
