"""Files being received: each is kept apart until complete, and can be resumed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from gcm.records import dataclass
from runtime.results.selection import ArrivingFile

_RIGHTS = 0o775
"""The rights that a file may bring: not that every account of this machine may write to it."""


@dataclass(slots=True)
class _Part:
    """A partly received file; of more bytes than its `version` says nothing is written."""

    path: str
    version: tuple[int, int]
    mode: int = 0o600
    size: int = 0
    is_whole: bool = False
    fault: str = ""


class IncomingFiles:
    """Receives files into a folder of its own until each is complete; see `fetching.Receiver`."""

    def __init__(self, folder: str) -> None:
        self.parts: dict[str, _Part] = {}
        self.bytes = 0
        self.faults: dict[str, str] = {}
        self._folder = folder
        self._asked: Sequence[tuple[str, int]] = ()
        self._listed: dict[str, int] = {}
        self._file: int | None = None

    def ask_for(self, arrivals: Sequence[ArrivingFile]) -> Sequence[tuple[str, int]]:
        """Return what to request: the rest of files that were partly received."""
        self.faults.clear()
        self._listed = {one.path: one.entry[1] for one in arrivals}
        self._asked = [(path, self.size_of([path])) for path in self._listed]
        return self._asked

    def size_of(self, paths: Iterable[str]) -> int:
        """Return how many bytes of some files are here."""
        return sum(self.parts[path].size for path in paths if path in self.parts)

    def begins(self, number: int, size: int, mtime: int, mode: int) -> None:
        """Begin a file, or resume it."""
        self._shut()
        path, _ = self._asked[number]
        part = self.parts.get(path)
        if part is not None and part.version != (size, mtime):
            self.forget(path)
            self.faults[path] = "it has changed meanwhile"
            return
        if size > self._listed[path]:  # room was looked for before, for less
            self.faults[path] = "it has grown meanwhile"
            return
        if part is None:
            name = os.path.join(self._folder, os.urandom(8).hex())
            part = self.parts[path] = _Part(name, (size, mtime), mode)
        self._file = os.open(part.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def goes_on(self, number: int, data: bytes) -> None:
        """Append the next bytes."""
        if self._file is None:
            return
        path, _ = self._asked[number]
        part = self.parts[path]
        if not self._has_room(path, part, len(data)):
            return
        view = memoryview(data)
        try:
            while view:
                written = os.write(self._file, view)
                view = view[written:]
                part.size += written
                self.bytes += written
        except OSError as fault:
            self._cannot_be_written(path, fault)

    def skips(self, number: int, size: int) -> None:
        """Leave a hole."""
        if self._file is None:
            return
        path, _ = self._asked[number]
        part = self.parts[path]
        if not self._has_room(path, part, size):
            return
        try:
            os.ftruncate(self._file, part.size + size)
            part.size += size
        except OSError as fault:
            self._cannot_be_written(path, fault)

    def _has_room(self, path: str, part: _Part, size: int) -> bool:
        """Tell whether a file may get so many bytes more; else it is shut."""
        if 0 <= size <= part.version[0] - part.size:
            return True
        self.faults[path] = "more bytes came than it has"
        self._shut()
        return False

    def _cannot_be_written(self, path: str, fault: OSError) -> None:
        """Give up a file, whose room the others have then."""
        self.forget(path)
        self.faults[path] = str(OSError(fault.errno, fault.strerror))
        self._shut()

    def ends(self, number: int, fault: str) -> None:
        """Complete a file."""
        path, _ = self._asked[number]
        self._shut()
        if fault or path in self.faults:
            self.faults.setdefault(path, fault)
            self.forget(path)
            return
        part = self.parts[path]
        os.chmod(part.path, part.mode & _RIGHTS)
        os.utime(part.path, ns=(part.version[1], part.version[1]))
        part.is_whole = True

    def stop(self) -> None:
        """Stop: nothing more comes for now."""
        self._shut()

    def take_whole(self) -> dict[str, str]:
        """Hand over the complete files: a map from their remote paths to local ones."""
        whole = {path: part.path for path, part in self.parts.items() if part.is_whole}
        for path in whole:
            del self.parts[path]
        return whole

    def forget(self, path: str) -> None:
        """Discard what was received of a file."""
        part = self.parts.pop(path, None)
        if part is not None and os.path.exists(part.path):
            os.unlink(part.path)

    def _shut(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
