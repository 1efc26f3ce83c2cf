"""Which files of a program folder came from runs: what may be replaced by those of the next one.

All others are the user's. A hidden file in the program folder, `RECORD`, has a line for each result
that came: its path, size and time, and if it was kept under another name the one that it was meant
for. It is written before a file is put in its place, so that a command that is killed in between
has it, too: of each path several versions may be known. No cluster can write it, since what
clusters make has no hidden name here.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress

from gcm.records import dataclass
from runtime.results.open_folder import OpenFolder, Version, unused_name, version_of

RECORD = ".gcm-results"

_FEW = 1000
"""Lines of a record that nobody minds."""


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result under another name than it was meant for; both are paths in the program folder."""

    path: str
    meant_for: str


class KnownResults:
    """The results that came to a program folder from earlier runs, and from this one."""

    def __init__(self, home: str) -> None:
        self.is_first = not os.path.lexists(os.path.join(home, RECORD))
        """Whether no run has brought results to this folder, or none that wrote it down."""
        self._home = home
        self._known: dict[str, set[Version]] = {}
        self._meant_for: dict[tuple[str, Version], str] = {}
        self._order: dict[tuple[str, Version], int] = {}
        """Which result came after which; clocks of other hosts do not tell."""
        self._count = 0
        lines = 0
        for line in self._lines():
            lines += 1
            with suppress(ValueError, TypeError):
                path, size, mtime, meant_for = json.loads(line)
                self._remember(str(path), (int(size), int(mtime)), str(meant_for))
        if lines > max(_FEW, 2 * len(self._known)):
            self._shorten()

    def has(self, path: str, known: os.stat_result) -> bool:
        """Tell whether a file or link came from a run, and nobody has written to it since."""
        return version_of(known) in self._known.get(path, ())

    def add(self, path: str, version: Version, meant_for: str = "") -> None:
        """Remember a result; raises OSError."""
        is_new = self._meant_for.get((path, version), "") != meant_for
        if version in self._known.get(path, ()) and not is_new:
            return
        self._remember(path, version, meant_for)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(os.path.join(self._home, RECORD), flags, 0o666)
        except PermissionError:  # that of a colleague, or of a run as root, gives way to our own
            self._write(lambda *_: True)
            return
        try:
            os.write(file, _line(path, version, meant_for))
        finally:
            os.close(file)

    def kept(self) -> list[KeptResult]:
        """Return what is still here under another name, in the order of the paths it is for.

        What a later run has brought under its own name is newer: nothing older waits for that.
        """
        found = {
            (path, meant_for)
            for (path, version), meant_for in self._meant_for.items()
            if self._is_there(path, version)
            and self._order[path, version] > self._order_of(meant_for)
        }
        return [KeptResult(path, meant) for path, meant in sorted(found, key=lambda one: one[::-1])]

    def forget(self, *paths: str) -> None:
        """Leave paths to the user from now on; raises OSError."""
        for path in paths:
            self._known.pop(path, None)
        self._meant_for = {
            key: meant for key, meant in self._meant_for.items() if key[0] not in paths
        }
        self._shorten()

    def _remember(self, path: str, version: Version, meant_for: str) -> None:
        self._known.setdefault(path, set()).add(version)
        self._count += 1
        self._order[path, version] = self._count
        if meant_for:
            self._meant_for[path, version] = meant_for

    def _order_of(self, path: str) -> int:
        """Return when the result came that is at a path now; -1 if what is there is the user's."""
        with suppress(OSError):
            version = version_of(os.lstat(os.path.join(self._home, path)))
            return self._order.get((path, version), -1)
        return -1

    def _is_there(self, path: str, version: Version) -> bool:
        with suppress(OSError):
            return version_of(os.lstat(os.path.join(self._home, path))) == version
        return False

    def _lines(self) -> list[bytes]:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        path = os.path.join(self._home, RECORD)
        with suppress(OSError), open(os.open(path, flags), "rb") as file:
            if _may_be_believed(self._home, os.fstat(file.fileno())):
                return file.read().splitlines()
        return []  # most folders have none

    def _shorten(self) -> None:
        """Write only what still counts; if that is not possible the longer one does no harm."""
        with suppress(OSError):
            self._write(self._is_there)

    def _write(self, counts: Callable[[str, Version], bool]) -> None:
        """Put a new file in the place of the one that is there; raises OSError."""
        lines = [
            _line(path, version, self._meant_for.get((path, version), ""))
            for path, version in sorted(self._order, key=self._order.__getitem__)
            if version in self._known.get(path, ()) and counts(path, version)
        ]
        with OpenFolder.at(self._home) as home:
            part = unused_name()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(part, flags, 0o666, dir_fd=home.descriptor), "wb") as file:
                file.writelines(lines)
            home.rename(part, RECORD)


def has_record(home: str, *, own: bool) -> bool:
    """Tell whether a folder has a record that is believed; only one of this account if `own`."""
    try:
        known = os.lstat(os.path.join(home, RECORD))
    except OSError:
        return False
    is_own = known.st_uid == os.geteuid()
    return stat.S_ISREG(known.st_mode) and (is_own or (not own and _may_be_believed(home, known)))


def _may_be_believed(home: str, record: os.stat_result) -> bool:
    """Tell whether who wrote a record may say what is the user's.

    Colleagues who share a folder may, since they can write all files there. In a sticky folder,
    such as /tmp, strangers can write none but their own.
    """
    is_own = record.st_uid == os.geteuid()
    return is_own or not os.stat(home).st_mode & stat.S_ISVTX


def _line(path: str, version: Version, meant_for: str) -> bytes:
    return json.dumps([path, *version, meant_for]).encode() + b"\n"
