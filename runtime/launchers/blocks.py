"""Blocks of whole lines: cut from the bytes that were read, unchanged, however many lines they are.

Nothing is decoded: what a program writes need not be text.
"""

from __future__ import annotations

LONGEST_LINE = 1 << 20
"""A longer line is handed on in pieces, so that memory stays bounded."""

LAST_BYTES = 16 << 10
LAST_LINES = 20


Buffer = bytes | memoryview
"""A block as it comes out of a message."""


def lines_of(block: bytes) -> list[str]:
    """Return the lines of a block as text; what is no UTF-8 is replaced.

    >>> lines_of(b"one\\r\\n\\ntwo\\n")
    ['one', '', 'two']
    """
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


class LastLines:
    """The last lines of all blocks, for an error message.

    >>> last = LastLines()
    >>> last.add(b"one\\n\\ntwo\\n")
    >>> last.text
    'one\\ntwo'
    """

    __slots__ = ("_end",)

    def __init__(self) -> None:
        self._end = b""

    def add(self, block: bytes) -> None:
        """Take the next block."""
        self._end = (self._end + block[-LAST_BYTES:])[-LAST_BYTES:]

    @property
    def text(self) -> str:
        """The lines that are not empty."""
        lines = self._end.decode("utf-8", errors="replace").splitlines()
        return "\n".join([line for line in lines if line.strip()][-LAST_LINES:])
