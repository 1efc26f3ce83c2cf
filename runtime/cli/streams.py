"""The standard streams of this process: always open, with errors reported."""

from __future__ import annotations

import os
import sys

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
