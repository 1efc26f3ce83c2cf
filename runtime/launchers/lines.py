"""From bytes as they come to lines, and the sinks most callers want."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from runtime.launchers.base import OutputStream
from runtime.launchers.blocks import LONGEST_LINE

TAIL_LINES = 20
TAIL_WIDTH = 500


class LineSplitter:
    """Cut a stream of bytes into lines; the last one counts without its newline too."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that are complete now."""
        self._rest += data
        if b"\n" not in data and len(self._rest) < LONGEST_LINE:
            return []
        *complete, rest = bytes(self._rest).split(b"\n")
        while len(rest) >= LONGEST_LINE:
            complete.append(rest[:LONGEST_LINE])
            rest = rest[LONGEST_LINE:]
        self._rest = bytearray(rest)
        return [_text(line) for line in complete]

    def finish(self) -> list[str]:
        """Return what is left as a last line, if anything is."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").removesuffix("\r")


class Tail:
    """The last lines of a stream, each cut to a bearable width."""

    def __init__(self, size: int = TAIL_LINES) -> None:
        self._splitter = LineSplitter()
        self._lines: deque[str] = deque(maxlen=size)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._keep(self._splitter.feed(data))

    def finish(self) -> None:
        """Count what is left as a line."""
        self._keep(self._splitter.finish())

    def _keep(self, lines: list[str]) -> None:
        for line in lines:
            self._lines.append(line if len(line) <= TAIL_WIDTH else line[:TAIL_WIDTH] + "...")

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines kept."""
        return tuple(self._lines)


class Lines:
    """A sink that calls with every line of either stream as it is completed.

    >>> lines = Lines(lambda stream, line: print(stream, line))
    >>> lines.received(OutputStream.OUTPUT, b"one\\ntw")
    stdout one
    >>> lines.finished()
    stdout tw
    """

    def __init__(self, call: Callable[[OutputStream, str], None]) -> None:
        self._call = call
        self._splitters = {stream: LineSplitter() for stream in OutputStream}

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Pass on the lines that are complete now."""
        for line in self._splitters[stream].feed(data):
            self._call(stream, line)

    def finished(self) -> None:
        """Pass on what never got its newline."""
        for stream, splitter in self._splitters.items():
            for line in splitter.finish():
                self._call(stream, line)


class Collected:
    """A sink that keeps everything, for commands that say little."""

    def __init__(self) -> None:
        self._parts: dict[OutputStream, list[bytes]] = {stream: [] for stream in OutputStream}

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Keep it."""
        self._parts[stream].append(data)

    def finished(self) -> None:
        """Need nothing."""

    @property
    def output(self) -> str:
        """All of stdout."""
        return b"".join(self._parts[OutputStream.OUTPUT]).decode("utf-8", errors="replace")

    @property
    def error(self) -> str:
        """All of stderr."""
        return b"".join(self._parts[OutputStream.ERROR]).decode("utf-8", errors="replace")
