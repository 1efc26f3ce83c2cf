"""Files without a name in which a submitter keeps what it sends: none stays if it is killed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from runtime.peers.errors import PeerError


@contextmanager
def temporary_file(kept: ExitStack) -> Iterator[IO[bytes]]:
    """Give a file to write in this block; `kept` closes it. Raises PeerError for every OSError."""
    folder = ""
    try:
        folder = tempfile.gettempdir()
        file = tempfile.TemporaryFile()  # noqa: SIM115
        kept.callback(_close, file)
        yield file
    except OSError as error:
        raise PeerError(
            "what peers are to get cannot be kept here",
            place=folder,
            cause=error.strerror or str(error),
            cure="Make room in this folder of temporary files, or name another one in TMPDIR",
        ) from error


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # what could not be written is tried once more, and was told before
        file.close()
