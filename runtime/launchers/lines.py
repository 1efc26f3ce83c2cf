"""Whole lines out of bytes as they come, and the sinks most callers want.

Blocks of lines are cut from what was read, unchanged, and not decoded: what a program writes need
not be text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from runtime.launchers.base import OutputStream

TAIL_LINES = 20
TAIL_WIDTH = 500

LONGEST_LINE = 1 << 20
"""A longer line is handed on in pieces, so that memory stays bounded."""

MOST_COLLECTED = 16 << 20
"""Bytes of a stream that are kept of a command that should say little."""

LAST_BYTES = 16 << 10
"""The most of a block that is looked through for the last lines."""


Buffer = bytes | memoryview
"""A block as it comes out of a message."""


def lines_of(block: bytes) -> list[str]:
    """Return the lines of a block as text; what is no UTF-8 is replaced.

    >>> lines_of(b"one\\r\\n\\ntwo\\n")
    ['one', '', 'two']
    """
    if not block:
        return []
    text = block.removesuffix(b"\n").decode("utf-8", errors="replace")
    return [line.removesuffix("\r") for line in text.split("\n")]


class BlockCutter:
    """Cut a stream of bytes behind the last newline of each piece that comes.

    >>> cutter = BlockCutter()
    >>> cutter.feed(b"one\\ntwo\\nth"), cutter.feed(b"re"), cutter.feed(b"e\\n"), cutter.finish()
    (b'one\\ntwo\\n', b'', b'three\\n', b'')
    """

    __slots__ = ("_rest", "_size")

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0

    @property
    def has_begun(self) -> bool:
        """Whether something has come of a line that is not complete."""
        return bool(self._rest)

    def feed(self, data: bytes) -> bytes:
        """Return the lines that are complete now; without a newline, a piece of a long one."""
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._keep(data)
            return self.finish() if self._size >= LONGEST_LINE else b""
        if cut == len(data) and not self._rest:
            return data
        rest, self._rest, self._size = self._rest, [], 0
        self._keep(data[cut:])
        return b"".join((*rest, memoryview(data)[:cut]))  # copied once, however large it is

    def finish(self) -> bytes:
        """Return what has come of a line that is not complete."""
        rest, self._rest, self._size = self._rest, [], 0
        return b"".join(rest)

    def _keep(self, data: bytes) -> None:
        if data:
            self._rest.append(data)
            self._size += len(data)


class Tail:
    """The last lines of a stream that are not empty, each cut to a bearable width."""

    def __init__(self, size: int = TAIL_LINES) -> None:
        self._cutter = BlockCutter()
        self._lines: deque[str] = deque(maxlen=size)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._keep(self._cutter.feed(data))

    def finish(self) -> None:
        """Count what is left as a line."""
        self._keep(self._cutter.finish())

    def _keep(self, block: bytes) -> None:
        for line in filter(str.strip, lines_of(block[-LAST_BYTES:])):
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
        self._cutters = {stream: BlockCutter() for stream in OutputStream}

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Pass on the lines that are complete now."""
        for line in lines_of(self._cutters[stream].feed(data)):
            self._call(stream, line)

    def finished(self) -> None:
        """Pass on what never got its newline."""
        for stream, cutter in self._cutters.items():
            for line in lines_of(cutter.finish()):
                self._call(stream, line)


class Collected:
    """A sink that keeps everything, for commands that say little.

    What is more than `most` bytes of a stream is dropped, and `full` called whenever some is.
    """

    def __init__(self, most: int = MOST_COLLECTED, full: Callable[[], None] = lambda: None) -> None:
        self._parts: dict[OutputStream, list[bytes]] = {stream: [] for stream in OutputStream}
        self._left = dict.fromkeys(OutputStream, most)
        self._full = full
        self.is_full = False
        """Whether some was dropped."""

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Keep it."""
        self._parts[stream].append(data[: self._left[stream]])
        self._left[stream] -= len(self._parts[stream][-1])
        if len(data) > len(self._parts[stream][-1]):
            self.is_full = True
            self._full()

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
