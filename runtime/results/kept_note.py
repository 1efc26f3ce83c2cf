"""A note beside the program that names its work folders, should the command be killed.

It is in the program folder as long as work folders elsewhere may hold results.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from runtime.lifecycle.outcome import KeptFolder

_BEGINNING = ".gcm-kept-"
_HEAD = """\
gcm-deploy (process {pid}) runs this program in copies of this folder. Should it be killed, results
may be left in the folders below; each command brings those of one cluster here, to a folder of its
own. Look at them, and move what you need. Then this file can be deleted.
"""


class KeptNote:
    """The note of one run in one folder."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder, f"{_BEGINNING}{os.getpid()}-{os.urandom(4).hex()}")

    def write(self, kept: Iterable[KeptFolder]) -> None:
        """Name the work folders of a run; if that cannot be written there is no note."""
        parts = [
            f"\n{one.cluster}: {one.where}\n    {one.cure if one.owner else one.command}\n"
            for one in kept
        ]
        with suppress(OSError):
            if parts:
                self._path.write_text(_HEAD.format(pid=os.getpid()) + "".join(parts))
            else:
                self._path.unlink(missing_ok=True)


def notes_in(folder: str) -> Iterator[Path]:
    """Yield the notes of runs that are over."""
    for path in sorted(Path(folder).glob(f"{_BEGINNING}*")):
        if not _lives(path.name.removeprefix(_BEGINNING).partition("-")[0]):
            yield path


def _lives(pid: str) -> bool:
    """Return whether the process exists; if its number was reused, the note waits."""
    return pid.isdigit() and Path(f"/proc/{pid}").exists()
