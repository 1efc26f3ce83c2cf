"""Bringing this package and others to a place where they are not installed."""

from __future__ import annotations

import importlib.util
import marshal
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import resources
from importlib.resources.abc import Traversable

from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import InputClosed
from runtime.launchers.staging import await_unpacking

_OLD_FORMAT = 2  # which every Python understands
_FAST = 1  # a network is seldom slower than a better compression
_HEADER = 16
_UNCHECKED = (1).to_bytes(4, "little")
"""The flags of a compiled module that is taken as it is, whatever the date of its source."""


# Thousands of files that `zipfile` or `tarfile` would take a second for.
_UNPACK = """
import marshal, os, sys, zlib
for path, data in marshal.loads(zlib.decompress(sys.stdin.buffer.read())).items():
    path = os.path.join(sys.argv[1], path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
"""

_archives: dict[tuple[str, ...], bytes] = {}
_packing = threading.Lock()


def packages_archive(names: Sequence[str]) -> bytes:
    """Return all files of importable packages in a form that `stage_packages` understands.

    What is compiled here already goes along: for a Python of the same version it is most of the
    time of its start. Packages that hold machine code would not fit another kind of machine: what
    these are needed for has to be installed there. Raises ModuleNotFoundError.
    """
    with _packing:  # another caller that needs it waits for less than it would take
        if tuple(names) not in _archives:
            files: dict[str, bytes] = {}
            for name in names:
                files.update(_files(resources.files(name), name.replace(".", "/")))
            _archives[tuple(names)] = zlib.compress(marshal.dumps(files, _OLD_FORMAT), _FAST)
        return _archives[tuple(names)]


def stage_packages(launcher: Launcher, python: str, names: Sequence[str], folder: str) -> None:
    """Bring packages into a folder of a place, to be put on the path of Pythons there.

    They are unpacked, so that what has to be compiled is compiled once and not by every process.

    Raises:
        StagingFailed: there is no room for them, or the like.
        ModuleNotFoundError: a package is not here either.
    """
    archive = packages_archive(names)
    process = launcher.start(Command((python, "-I", "-S", "-c", _UNPACK, folder)))
    with suppress(InputClosed):  # then it gave up, and its exit below says why
        process.write(archive)
    await_unpacking(process, launcher.place, folder)


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for one in sorted(folder.iterdir(), key=lambda found: found.name):
        if one.is_file():
            data = one.read_bytes()
            yield f"{path}/{one.name}", data
            if one.name.endswith(".py"):
                yield from _compiled(str(one), path, data)
        elif one.is_dir() and one.name != "__pycache__":
            yield from _files(one, f"{path}/{one.name}")


def _compiled(source: str, path: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what this Python has compiled of a source, if it is of this very source."""
    found = importlib.util.cache_from_source(source)
    try:
        with open(found, "rb") as file:
            compiled = file.read()
        changed = int(os.stat(source).st_mtime)
    except OSError:
        return  # not compiled yet, or not in a folder
    facts = (0, changed & 0xFFFFFFFF, len(data) & 0xFFFFFFFF)
    fresh = b"".join(one.to_bytes(4, "little") for one in facts)
    magic = importlib.util.MAGIC_NUMBER
    if compiled[:_HEADER] == magic + fresh:
        header = magic + _UNCHECKED + importlib.util.source_hash(data)
        yield f"{path}/__pycache__/{os.path.basename(found)}", header + compiled[_HEADER:]
