"""Packing files into a stream at home, and unpacking it at the far end.

Needs nothing but the standard library: it travels to hosts where this package is not installed.
"""

from __future__ import annotations

import io
import os
import posixpath
import shutil
import sys
import tarfile
from collections.abc import Mapping
from typing import IO

PIECE = 1 << 18  # bytes that are written to the stream at once


class LinkTarget(str):
    """Where a symbolic link shall lead, relative to the folder it is in."""

    __slots__ = ()


class Folder(str):
    """A folder that is packed without what is in it."""

    __slots__ = ()


def pack(files: Mapping[str, str | bytes], stream: IO[bytes]) -> None:
    """Write files, folders, links and texts to `stream` under the names they shall have.

    Links that are found are followed, so that what arrives is complete; raises OSError, also for a
    folder that contains itself.
    """
    with tarfile.open(fileobj=stream, mode="w|", dereference=True, bufsize=PIECE) as archive:
        for name, source in files.items():
            if isinstance(source, LinkTarget):
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, source
                archive.addfile(entry)
            elif isinstance(source, Folder):
                archive.add(source, name, recursive=False, filter=_plain)
            elif isinstance(source, bytes):
                entry = tarfile.TarInfo(name)
                entry.size = len(source)
                archive.addfile(entry, io.BytesIO(source))
            else:
                _add(archive, source, name, ())


def _add(archive: tarfile.TarFile, path: str, name: str, above: tuple[str, ...]) -> None:
    if not os.path.isdir(path):
        archive.add(path, name, filter=_plain)
        return
    real = os.path.realpath(path)
    if real in above:
        raise OSError(f"{path} leads back to {real}, a folder it is in")
    archive.add(path, name, recursive=False, filter=_plain)
    for inner in sorted(os.listdir(path)):
        _add(archive, os.path.join(path, inner), f"{name}/{inner}", (*above, real))


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out fractions of seconds: they would take two more blocks for each file."""
    entry.mtime = int(entry.mtime)
    return entry


def unpack(stream: IO[bytes], folder: str, *, links: bool = False) -> None:
    """Write what `pack` packed below `folder`, and `links` if they stay inside.

    Raises OSError, and ValueError for what is neither that nor a plain file or folder inside.
    """
    with tarfile.open(fileobj=stream, mode="r|", bufsize=PIECE) as archive:
        for entry in archive:
            parts = entry.name.split("/")
            is_plain = entry.isreg() or entry.isdir() or (links and _stays_inside(entry))
            if entry.name.startswith("/") or ".." in parts or not is_plain:
                raise ValueError(f"refused to unpack {entry.name!r}: not a plain file inside")
            path = os.path.join(folder, *parts)
            if entry.isdir():
                os.makedirs(path, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.islink(path):
                os.unlink(path)
            if entry.issym():
                os.symlink(entry.linkname, path)
                continue
            content = archive.extractfile(entry)
            assert content is not None
            with open(path, "wb") as file:
                shutil.copyfileobj(content, file)
            os.chmod(path, entry.mode & 0o777 | 0o600)
            os.utime(path, (entry.mtime, entry.mtime))


def _stays_inside(entry: tarfile.TarInfo) -> bool:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(entry.name), entry.linkname))
    is_inside = not entry.linkname.startswith("/") and target.split("/")[0] != ".."
    return entry.issym() and is_inside


def place(file: str, path: str) -> None:
    """Copy a file to where there may be no folder yet; raises OSError."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copyfile(file, path)


def main(folder: str, stored: str = "", name: str = "") -> None:
    """Unpack stdin, or a file of what `pack` wrote, into a folder; or copy a file there."""
    try:
        if name:
            place(stored, os.path.join(folder, name))
            return
        with open(stored, "rb") if stored else sys.stdin.buffer as stream:
            unpack(stream, folder, links=True)
    except (OSError, ValueError, tarfile.TarError) as fault:
        sys.exit(f"{type(fault).__name__}: {fault}")


if __name__ == "__main__":
    main(*sys.argv[1:])
