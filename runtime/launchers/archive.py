"""Packing and unpacking files as a stream; the same program runs at home and at the far end.

Needs nothing but the standard library: it travels to hosts where this package is not installed.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
from typing import IO


def pack(files: dict[str, str | bytes], stream: IO[bytes]) -> None:
    """Write files, folders and texts to `stream` under the names they shall have.

    Links are followed, so that what arrives is complete; raises OSError, also for a folder that
    contains itself.
    """
    with tarfile.open(fileobj=stream, mode="w|", dereference=True) as archive:
        for name, source in files.items():
            if isinstance(source, bytes):
                entry = tarfile.TarInfo(name)
                entry.size = len(source)
                archive.addfile(entry, io.BytesIO(source))
            else:
                _add(archive, source, name, ())


def _add(archive: tarfile.TarFile, path: str, name: str, above: tuple[str, ...]) -> None:
    if not os.path.isdir(path):
        archive.add(path, name)
        return
    real = os.path.realpath(path)
    if real in above:
        raise OSError(f"{path} leads back to {real}, a folder it is in")
    archive.add(path, name, recursive=False)
    for inner in sorted(os.listdir(path)):
        _add(archive, os.path.join(path, inner), f"{name}/{inner}", (*above, real))


def unpack(stream: IO[bytes], folder: str) -> None:
    """Write what `pack` packed below `folder`; raises OSError, ValueError for a name outside it."""
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            parts = entry.name.split("/")
            if entry.name.startswith("/") or ".." in parts or not (entry.isreg() or entry.isdir()):
                raise ValueError(f"refused to unpack {entry.name!r}: not a plain file inside")
            path = os.path.join(folder, *parts)
            if entry.isdir():
                os.makedirs(path, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            content = archive.extractfile(entry)
            assert content is not None
            with open(path, "wb") as file:
                shutil.copyfileobj(content, file)
            os.chmod(path, entry.mode & 0o755 | 0o600)


def main(action: str, folder: str, *names: str) -> None:
    """Unpack stdin into a folder, or pack what is named below it to stdout."""
    try:
        if action == "unpack":
            unpack(sys.stdin.buffer, folder)
        else:
            pack({name: os.path.join(folder, name) for name in names}, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    except (OSError, ValueError, tarfile.TarError) as fault:
        sys.exit(f"{type(fault).__name__}: {fault}")


if __name__ == "__main__":
    main(*sys.argv[1:])
