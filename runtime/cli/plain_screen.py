"""Writes lines as they come: those of the application to its streams, news to standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import BinaryIO

from runtime.cli.plain_lines import PlainLines
from runtime.cli.printer import Item, RankLine, Word
from runtime.cli.rank_output import RankFiles, encoded, tagged
from runtime.launchers.base import Stream


class PlainScreen:
    """A screen for pipes, files and whoever wants no live tree; without `news` it tells none."""

    pause = 0.0
    patience: float | None = None

    def __init__(
        self,
        output: BinaryIO,
        error: BinaryIO,
        *,
        news: PlainLines | None,
        tags: bool = False,
        files: RankFiles | None = None,
    ) -> None:
        self._streams = {Stream.OUTPUT: output, Stream.ERROR: error}
        self._news = news
        self._tags = tags
        self._files = files

    def show(self, items: Sequence[Item]) -> None:
        """Write the items in order, and let go of them at once."""
        keep(items, self._files)
        for stream, lines in groupby(self._lines(items), key=lambda pair: pair[0]):
            target = self._streams[stream]
            target.write(b"".join(encoded(line) for _, line in lines))
            target.flush()

    def close(self) -> None:
        """Close the files of the ranks."""
        if self._files is not None:
            self._files.close()

    def _lines(self, items: Iterable[Item]) -> Iterator[tuple[Stream, str]]:
        for item in items:
            if isinstance(item, RankLine):
                if not item.is_detail:
                    yield item.stream, shown(item, self._tags)
            elif isinstance(item, Word):
                yield Stream.ERROR, item.text
            elif self._news and (told := self._news.told(item.path, item.state, item.detail)):
                yield Stream.ERROR, f"gcm-deploy: {told}"


def keep(items: Iterable[Item], files: RankFiles | None) -> None:
    """Write the lines of ranks to their files, where there are some."""
    if files is not None:
        for item in items:
            if isinstance(item, RankLine):
                files.write(item.rank, item.stream, item.text)


def shown(line: RankLine, tags: bool) -> str:
    """Return the text of a line, with its rank before it when that is wanted."""
    return tagged(line.rank, line.text) if tags else line.text
