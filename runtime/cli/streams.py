"""The standard streams of this process, always open, and files that are the user's alone."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import BinaryIO

from gcm.cli.output import forget_output
from runtime.cli.errors import OutputFailed


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
