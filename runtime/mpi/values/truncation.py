"""Says how large a message and a buffer are where native MPI found the message truncated.

Open MPI tells no size. MPICH tells two, the wrong way round in some of its channels: "40 bytes
received but buffer size is 80" of a message of 80 bytes. The size of the buffer is known here, and
the other one is that of the message. Imported with the first such error only; messages between
clusters have the same note from `runtime.mpi.progress.receives`.
"""

from __future__ import annotations

import re
from typing import Any

from mpi4py import MPI

from runtime.mpi.values.specs import read

_SIZES = re.compile(r"(\d+) bytes received but buffer size is (\d+)")


def note_sizes(error: MPI.Exception, buf: Any) -> None:
    """Add a note with the sizes to the error of a receive into `buf`, if it is of that class."""
    if error.Get_error_class() == MPI.ERR_TRUNCATE:
        error.add_note(in_words(read(buf, readonly=False).nbytes, error.Get_error_string()))


def note_said(error: BaseException | None) -> None:
    """Add the note to an error of a request, whose buffer is not known here, if MPI has told sizes.

    The message is longer than its buffer, in whichever order they are told.
    """
    if not isinstance(error, MPI.Exception) or hasattr(error, "__notes__") or MPI.Is_finalized():
        return
    if error.Get_error_class() != MPI.ERR_TRUNCATE:
        return
    if note := sizes_in(error.Get_error_string()):
        error.add_note(note)


def sizes_in(said: str) -> str:
    """Return the sizes that are in an error string of native MPI; "" if there are none.

    >>> sizes_in("Message from rank 0 truncated; 40 bytes received but buffer size is 80")
    'a message of 80 bytes came into a buffer of 40 bytes'
    """
    found = _SIZES.search(said)
    return in_words(min(map(int, found.groups())), said) if found else ""


def in_words(room: int, said: str) -> str:
    """Return the sizes, as far as they are known from the buffer and what native MPI has said.

    >>> in_words(40, "Message from rank 0 truncated; 40 bytes received but buffer size is 80")
    'a message of 80 bytes came into a buffer of 40 bytes'
    >>> in_words(40, "MPI_ERR_TRUNCATE: message truncated")
    'a longer message came into a buffer of 40 bytes'
    """
    found = _SIZES.search(said)
    larger = max(map(int, found.groups())) if found else 0
    message = f"a message of {larger} bytes" if larger > room else "a longer message"
    return f"{message} came into a buffer of {room} bytes"
