"""The stdout of a replica where lost ones are started again: how many lines it has written.

Lines of replicas are known by their numbers. A process that was started again writes nothing before
it goes on where another one is; then it says at which line that was.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from runtime.replicas.lines import MARK, cut_lines

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDOUT = 1


class CountedOutput(io.RawIOBase):
    """What stands below `sys.stdout`; of a process that `is_late` nothing is written at first."""

    def __init__(self, *, is_late: bool) -> None:
        super().__init__()
        self._is_late = is_late
        self._lines, self._begun = 0, bytearray()

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """Return the descriptor; what others write to it is not counted."""
        return STDOUT

    def write(self, data: ReadableBuffer, /) -> int:
        """Write and count some of the data."""
        block = memoryview(data)
        written = len(block) if self._is_late else os.write(STDOUT, block)
        self._lines += len(cut_lines(self._begun, block[:written]))
        return written

    def so_far(self) -> tuple[int, bytes]:
        """Return how many lines were written, and what is begun of another one."""
        sys.stdout.flush()
        return self._lines, bytes(self._begun)

    def go_on(self, lines: int, begun: bytes) -> None:
        """Go on where another replica is that has written so much."""
        sys.stdout.flush()
        self._is_late = False
        self._lines, self._begun = lines, bytearray(begun)
        left = memoryview(b"%b%d\n%b" % (MARK, lines, begun))
        while left:
            left = left[os.write(STDOUT, left) :]


_counted: CountedOutput | None = None


def count_output(*, is_late: bool) -> None:
    """Count what the program writes to `sys.stdout` from now on."""
    global _counted
    _counted, before = CountedOutput(is_late=is_late), sys.stdout
    assert isinstance(before, io.TextIOWrapper), "nobody has replaced it before the program begins"
    before.flush()
    is_unbuffered = isinstance(before.buffer, io.RawIOBase)  # `python -u`
    sys.stdout = io.TextIOWrapper(
        _counted if is_unbuffered else io.BufferedWriter(_counted),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )


def counted_output() -> CountedOutput:
    """Return what counts the output of this process."""
    assert _counted is not None, "it is counted where replicas are started again"
    return _counted
