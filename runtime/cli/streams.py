"""The standard streams of this process, always open, and files that are the user's alone."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
from typing import TYPE_CHECKING, BinaryIO, TextIO

from gcm.cli.output import forget_output
from runtime.cli.errors import OutputFailed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def fill_gaps() -> None:
    """Open the standard streams that the caller has left closed, to nowhere.

    Otherwise the first file or socket to be opened would replace a standard stream, and get
    whatever anybody prints.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


class StandardStream(io.FileIO):
    """A standard stream of this process that waits where others have made it non-blocking.

    What is `optional` never raises: its bytes are dropped while they cannot be written, for lack of
    space, or because the terminal or the reader has gone.
    """

    def __init__(self, number: int, *, optional: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._is_optional = optional

    def write(self, data: ReadableBuffer) -> int:
        """Write some of the bytes; return how many, or all that were dropped."""
        try:
            while (written := super().write(data)) is None:
                ready = select.poll()
                ready.register(self.fileno(), select.POLLOUT)
                ready.poll()
        except OSError:
            if not self._is_optional:
                raise
            return memoryview(data).nbytes
        return written


def make_streams_endure() -> None:
    """Let no message of this command end what it does: standard error is optional.

    So is a terminal behind standard output: it goes with a signal, which says what is to be done.
    Streams that somebody has replaced stay as they are.
    """
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        sys.stdout = _enduring(sys.stdout, optional=sys.stdout.isatty())
    if sys.stderr is sys.__stderr__ and sys.stderr is not None:
        sys.stderr = _enduring(sys.stderr, optional=True)


def _enduring(stream: TextIO, *, optional: bool) -> TextIO:
    assert isinstance(stream, io.TextIOWrapper)
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(StandardStream(stream.fileno(), optional=optional)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def write(text: str) -> None:
    """Write to standard output and flush.

    Raises:
        BrokenPipeError: the reader is gone.
        OutputFailed: it cannot be written, for example for lack of space.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_output()
        raise OutputFailed(f"the output could not be written: {error.strerror}") from error


def own_file(path: str) -> BinaryIO:
    """Return a file that was made or emptied, and that only its owner may read: this user.

    Raises:
        OSError: it cannot be written, or is another user's, who would read it.
    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    found = os.fstat(number)
    if stat.S_ISREG(found.st_mode):
        if found.st_uid != os.geteuid():
            os.close(number)
            raise PermissionError(errno.EPERM, "it is another user's, who could read it", path)
        os.fchmod(number, 0o600)  # of one that was there
        os.ftruncate(number, 0)
    return open(number, "wb")
