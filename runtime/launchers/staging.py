"""Bringing files to a place and home again, through the commands of a launcher."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Protocol, cast

from runtime.launchers import archive, bootstrap
from runtime.launchers.base import Command, Process, Sink, Stream
from runtime.launchers.errors import FetchFailed, InputClosed, StagingFailed
from runtime.launchers.unpacking import await_unpacking

if TYPE_CHECKING:
    from runtime.launchers.base import Source


class _Starter(Protocol):
    @property
    def place(self) -> str: ...
    def start(self, command: Command, sink: Sink | None = None) -> Process: ...


class _Input:
    """The stdin of a process as a file to write to."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def write(self, data: bytes) -> int:
        self._process.write(data)
        return len(data)


class _Spool:
    """A sink that keeps stdout in a file without a name."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.fault: OSError | None = None

    def received(self, stream: Stream, data: bytes) -> None:
        if stream is Stream.OUTPUT and self.fault is None:
            try:
                self._file.write(data)
            except OSError as fault:
                self.fault = fault

    def finished(self) -> None:
        """Need nothing."""


def stage(launcher: _Starter, python: str, files: Mapping[str, Source], folder: str) -> None:
    """Bring files, folders and links to `folder` under the given names, folders made as needed.

    Raises StagingFailed: with the cause as the place tells it, such as a full disk, or because a
    file cannot be read here or a name leads out of the folder.
    """
    for name in files:
        _inside(name, launcher.place)
    sources = {name: str(one) if isinstance(one, Path) else one for name, one in files.items()}
    process = launcher.start(_far_end(python, "unpack", folder))
    try:
        archive.pack(sources, cast(IO[bytes], _Input(process)))
    except InputClosed:
        pass  # it gave up; its exit below says why
    except OSError as fault:
        process.kill()
        raise StagingFailed(
            f"a file to bring along cannot be read here: {fault}",
            place=launcher.place,
            cure="Check the path and the rights of the file",
        ) from fault
    await_unpacking(process, launcher.place, folder)


def fetch(launcher: _Starter, python: str, paths: Sequence[str], folder: str, target: Path) -> None:
    """Bring `paths` below `folder` home to `target`; raises FetchFailed."""
    for name in paths:
        _inside(name, launcher.place)
    with tempfile.TemporaryFile() as file:
        spool = _Spool(file)
        process = launcher.start(_far_end(python, "pack", folder, *paths), spool)
        process.close_input()
        ended = process.wait()
        cause = "\n".join(process.tail) if not ended.ok else str(spool.fault or "")
        if not cause and ended.ok:
            try:
                file.seek(0)
                archive.unpack(file, str(target))
            except (OSError, ValueError, tarfile.TarError) as fault:
                cause = f"{type(fault).__name__}: {fault}"
        if cause or not ended.ok:
            raise FetchFailed(
                f"files could not be brought home from {folder} to {target}",
                place=launcher.place,
                cause=cause or str(ended),
                cure="Check that the files exist there and that there is room here",
            )


def _far_end(python: str, *arguments: str) -> Command:
    return Command((python, "-I", "-S", "-c", bootstrap.read_source("archive"), *arguments))


def _inside(name: str, place: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise StagingFailed(
            f"{name!r} is not the name of a file inside the target folder",
            place=place,
            cure="Use a relative path without '..'",
        )
