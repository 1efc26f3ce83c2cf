"""The standard streams of this process: there even if nobody opened them, written with care."""

from __future__ import annotations

import os
import sys

from runtime.errors import GridError


class OutputFailed(GridError):
    """What has to be written cannot be written."""


def fill_gaps() -> None:
    """Open what the caller has left closed of the standard streams, to nowhere.

    Else the first file or socket to be opened would take the place of a standard stream, and get
    whatever anybody prints.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def write(text: str) -> None:
    """Write to standard output, at once.

    Raises:
        BrokenPipeError: nobody reads it any more.
        OutputFailed: there is no room for it, for example.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_output()
        raise OutputFailed(f"the output could not be written: {error.strerror}") from error


def forget_output() -> None:
    """Let what is still to be written go nowhere, so that the end of the process tries no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
