"""Writes output as it comes: that of the application to its streams, news to standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import BinaryIO

from runtime.cli.errors import COMMAND
from runtime.cli.screens.rank_output import OutputChoice, SharedStream, stream_of
from runtime.launchers.base import OutputStream
from runtime.topology import RankNames
from runtime.views.facts import Fact, Logged, OutputWritten
from runtime.views.plain_lines import News


class PlainScreen:
    """A screen for pipes, files and users who want no live tree; without `news` it prints none.

    An unfinished last line stays so on standard output, unless `ends_lines`.
    """

    pause = 0.0

    def __init__(
        self,
        output: BinaryIO,
        error: BinaryIO,
        *,
        news: News | None,
        tags: bool = False,
        ends_lines: bool = False,
        names: RankNames | None = None,
        choice: OutputChoice | None = None,
    ) -> None:
        self._targets = {OutputStream.OUTPUT: output, OutputStream.ERROR: error}
        self._streams = {stream: SharedStream(tags=tags, names=names) for stream in OutputStream}
        self._news = news
        self._choice = choice or OutputChoice()
        self._ends = tuple(OutputStream) if ends_lines else (OutputStream.ERROR,)

    @property
    def refresh_interval(self) -> float | None:
        """Return the seconds until there is news even if nothing happens."""
        return None if self._news is None else self._news.wait()

    def show(self, facts: Sequence[Fact]) -> None:
        """Write the facts in order, and release them at once."""
        for stream, pieces in groupby(self._pieces(facts), key=lambda pair: pair[0]):
            self._write(stream, (piece for _, piece in pieces))

    def close(self) -> None:
        """End the last lines."""
        for stream in self._ends:
            if rest := self._streams[stream].end_line():
                self._write(stream, (rest,))

    def _write(self, stream: OutputStream, pieces: Iterable[bytes]) -> None:
        target = self._targets[stream]
        for piece in pieces:  # small pieces are gathered by the target
            target.write(piece)
        target.flush()

    def _pieces(self, facts: Iterable[Fact]) -> Iterator[tuple[OutputStream, bytes]]:
        for fact in facts:
            match fact.record:
                case OutputWritten() as output:
                    if self._choice.has(fact.name, output):
                        stream = stream_of(output)
                        yield stream, self._streams[stream].output(fact.name, output.data)
                case Logged(text):
                    yield OutputStream.ERROR, self._streams[OutputStream.ERROR].word(text)
                case _ if self._news and (line := self._news.line_of(fact)):
                    yield self._word(line)
        if self._news and (line := self._news.due()):
            yield self._word(line)

    def _word(self, text: str) -> tuple[OutputStream, bytes]:
        stream = OutputStream.ERROR
        return stream, self._streams[stream].word(f"{COMMAND}: {text}")
