"""An open folder, and what is done with the names in it: no link is followed on the way to one.

A path that is looked up anew for each step may lead elsewhere each time, and a link that came with
results would lead to where its maker likes. So each folder is opened in the one above it, and
files are looked at, replaced and removed by their names in an open folder. Unlike `openat2` that
needs no system call that Python lacks, and lets single links be followed.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

from gcm.records import dataclass
from runtime.launchers.contents import CHUNK, regions

FORMER = ".gcm-former"
"""The folder beside results that has the versions from before the latest run that replaced them."""

Version = tuple[int, int]
"""Size and mtime in ns: one of them changes when somebody writes to a file."""

_PIECE = 16 * CHUNK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def version_of(known: os.stat_result) -> Version:
    """Return the version of a file or link."""
    return known.st_size, known.st_mtime_ns


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A folder by its descriptor; names are those of what is directly in it."""

    descriptor: int

    @classmethod
    @contextmanager
    def at(cls, path: str) -> Iterator[Self]:
        """Open a folder of the user, whatever links lead there; raises OSError."""
        opened = cls(os.open(path, _FOLDER))
        try:
            yield opened
        finally:
            opened.close()

    @classmethod
    @contextmanager
    def below(
        cls, top: str, path: str, is_followed: Callable[[OpenFolder, str], bool]
    ) -> Iterator[OpenFolder]:
        """Open a folder by its path below `top`, step by step.

        `is_followed` tells of a link, the path of which has the name in an open folder, whether it
        may be followed. Raises OSError, also where `path` leads out.
        """
        folder, at = cls(os.open(top, _FOLDER)), ""
        try:
            for name in steps(path):
                at = posixpath.join(at, name)
                inner = folder.inner(name, follow=is_followed(folder, at))
                folder.close()
                folder = inner
            yield folder
        finally:
            folder.close()

    def inner(self, name: str, *, follow: bool = False) -> OpenFolder:
        """Open a folder in this one.

        Raises:
            FileNotFoundError: there is none.
            NotADirectoryError: it is a file, or a link that is not to be followed.
        """
        flags = _FOLDER if follow else _FOLDER | os.O_NOFOLLOW
        try:
            return OpenFolder(os.open(name, flags, dir_fd=self.descriptor))
        except OSError as fault:
            if fault.errno != errno.ELOOP:
                raise
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from fault

    def make(self, name: str) -> OpenFolder:
        """Open a folder in this one, made if there is nothing; see `inner`."""
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=self.descriptor)
        return self.inner(name)

    def close(self) -> None:
        """Close it."""
        os.close(self.descriptor)

    def stat(self, name: str) -> os.stat_result | None:
        """Return what is known of a file, link or folder; None if there is nothing."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_folder(self, name: str) -> bool:
        """Tell whether something is a folder, and no link to one."""
        known = self.stat(name)
        return known is not None and stat.S_ISDIR(known.st_mode)

    def link(self, name: str) -> str | None:
        """Return where a link leads, None if it is none."""
        try:
            return os.readlink(name, dir_fd=self.descriptor)
        except OSError:
            return None

    def open(self, name: str) -> int:
        """Return the descriptor of a regular file, to be read; raises OSError."""
        file = os.open(name, _FILE, dir_fd=self.descriptor)
        if stat.S_ISREG(os.fstat(file).st_mode):
            return file
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a regular file", name)

    def has_equal(self, name: str, other: OpenFolder, its_name: str) -> bool:
        """Tell whether a file or link has the content of another one; false if none can be read."""
        here, there = self.link(name), other.link(its_name)
        if here is not None or there is not None:
            return here == there
        with suppress(OSError), self._read(name) as one, other._read(its_name) as two:
            return _are_equal(one, two)
        return False

    def take(self, part: str, name: str) -> None:
        """Move a file or link here, atomically, in place of what has the name; raises OSError."""
        above, part_name = os.path.split(part)
        try:
            os.replace(part, name, dst_dir_fd=self.descriptor)
        except OSError as fault:
            if fault.errno != errno.EXDEV:
                raise
            with OpenFolder.at(above) as source:
                self.copy(source, part_name, name)
            os.unlink(part)

    def copy(self, source: OpenFolder, its_name: str, name: str) -> None:
        """Replace what has a name by a copy of a file or link, atomically; raises OSError."""
        part = unused_name()
        leads_to = source.link(its_name)
        try:
            if leads_to is not None:
                os.symlink(leads_to, part, dir_fd=self.descriptor)
            else:
                with source._read(its_name) as file:
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                    copy_file(file, os.open(part, flags, 0o600, dir_fd=self.descriptor))
            self.rename(part, name)
        finally:
            self.remove(part)

    def rename(self, name: str, other: str) -> None:
        """Give something another name, in place of what has that."""
        os.replace(name, other, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def keep_former(self, name: str) -> None:
        """Keep a file or link in `FORMER`, in place of the version that is there."""
        former = self.make(FORMER)
        part = unused_name()
        try:
            os.link(
                name, part, src_dir_fd=self.descriptor, dst_dir_fd=former.descriptor,
                follow_symlinks=False,
            )  # fmt: skip
        except OSError:  # not every file system has them
            former.copy(self, name, name)
        else:
            former.rename(part, name)
            former.remove(part)  # which stays where both were the same file
        finally:
            former.close()

    def remove(self, name: str) -> None:
        """Remove a file or link if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    @contextmanager
    def _read(self, name: str) -> Iterator[int]:
        file = self.open(name)
        try:
            yield file
        finally:
            os.close(file)


def steps(path: str) -> list[str]:
    """Return the names in a path that leads down; raises OSError for one that does not."""
    names = [one for one in posixpath.normpath(path).split("/") if one != "."]
    if {"", ".."} & set(names):
        raise OSError(errno.EINVAL, "it leads out of the folder", path)
    return names


def unused_name() -> str:
    """Return a name that nothing has."""
    return f".gcm-{os.urandom(8).hex()}"


def copy_file(source: int, target: int) -> None:
    """Copy an open file to a new one, which is closed: its holes, mode and time too."""
    try:
        known = os.fstat(source)
        for at, data in _data(source, known.st_size):
            view, written = memoryview(data), 0
            while written < len(view):
                written += os.pwrite(target, view[written:], at + written)
        os.ftruncate(target, known.st_size)
        os.fchmod(target, stat.S_IMODE(known.st_mode))
        os.utime(target, ns=(known.st_atime_ns, known.st_mtime_ns))
    finally:
        os.close(target)


def _are_equal(one: int, other: int) -> bool:
    """Tell whether two open files have the same content; of what both have as a hole none is read.

    A hole of one of them is compared with what the other has there.
    """
    size = os.fstat(one).st_size
    if os.fstat(other).st_size != size:
        return False
    return all(
        os.pread(its_twin, len(data), at) == data
        for file, its_twin in ((one, other), (other, one))
        for at, data in _data(file, size)
    )


def _data(file: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the data of an open file in pieces, and where each is; raises OSError if it is cut."""
    for is_data, start, end in regions(file, 0, size):
        for at in range(start, end if is_data else start, _PIECE):
            data = os.pread(file, min(_PIECE, end - at), at)
            if len(data) < min(_PIECE, end - at):
                raise OSError(errno.EIO, "it was cut off while it was read")
            yield at, data
