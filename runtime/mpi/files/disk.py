"""The file itself, at its home, and the thread that reads and writes it for all."""

from __future__ import annotations

import os
import stat
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from runtime.files.faults import FileFault, fault_of
from runtime.files.home import FileWork
from runtime.files.modes import OpenMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.files.home import DiskJob, DiskOutcome

_READABLE_BY_ALL = 0o666
"""The permissions of a new file, less those that the umask takes away."""


class OpenFile:
    """A `Disk` of `runtime.files`: a file of this process's system, or a device."""

    def __init__(self, path: str, mode: OpenMode) -> None:
        """Open it. Raises FileFault."""
        self.path = os.path.abspath(path)
        self._is_deleted = bool(mode & OpenMode.DELETE_ON_CLOSE)
        try:
            self._descriptor = os.open(path, mode.flags, _READABLE_BY_ALL)
        except OSError as error:
            raise fault_of(error, "the system says") from None
        kind = os.fstat(self._descriptor).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISBLK(kind) or stat.S_ISCHR(kind)):
            os.close(self._descriptor)
            what = "a folder" if stat.S_ISDIR(kind) else "a pipe or socket"
            raise FileFault("ERR_BAD_FILE", f"it is {what}")

    def read(self, start: int, size: int) -> bytes:
        """Return bytes, fewer at the end of the file."""
        found = os.pread(self._descriptor, size, start)
        while 0 < len(found) < size and (more := self._more(start, size, found)):
            found += more
        return found

    def _more(self, start: int, size: int, found: bytes) -> bytes:
        return os.pread(self._descriptor, size - len(found), start + len(found))

    def write(self, start: int, data: memoryview) -> int:
        """Write bytes; return how many, fewer where a disk is full."""
        return os.pwrite(self._descriptor, data, start)

    def size(self) -> int:
        """Return the size in bytes."""
        return os.fstat(self._descriptor).st_size

    def resize(self, size: int) -> None:
        """Cut or extend it."""
        os.ftruncate(self._descriptor, size)

    def reserve(self, size: int) -> None:
        """See that so many bytes from the beginning have their place on the disk."""
        if size:
            os.posix_fallocate(self._descriptor, 0, size)

    def sync(self) -> None:
        """Wait until all is on the disk."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close it, and delete it if that was asked for. Raises FileFault."""
        try:
            os.close(self._descriptor)
            if self._is_deleted:
                os.unlink(self.path)
        except OSError as error:
            raise fault_of(error, "the system says") from None


class FileThread:
    """Carries the jobs of one file out, so that nobody waits for a disk with a lock held."""

    def __init__(self, disk: OpenFile, finished: Callable[[DiskJob, DiskOutcome], None]) -> None:
        """Give each job and what came of it to `finished`, which is called by the thread."""
        self._work, self._finished = FileWork(disk), finished
        self._jobs: SimpleQueue[DiskJob | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="gcm-file", daemon=True)
        self._thread.start()

    def begin(self, job: DiskJob) -> None:
        """Carry a job out once those before it are."""
        self._jobs.put(job)

    def end(self) -> None:
        """Carry out what was begun, then end."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._finished(job, self._work.done(job))
