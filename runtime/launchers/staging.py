"""Bringing files to a place, through the commands of a launcher."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from runtime.launchers import archive, bootstrap
from runtime.launchers.base import Command, Launcher, Process
from runtime.launchers.errors import InputClosed, StagingFailed
from runtime.web_address import WebAddress

if TYPE_CHECKING:
    from runtime.launchers.base import Source


class _Input:
    """The stdin of a process as a file to write to."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def write(self, data: bytes) -> int:
        self._process.write(data)
        return len(data)


def stage(launcher: Launcher, python: str, files: Mapping[str, Source], folder: str) -> None:
    """Bring files, folders and links to `folder` under the given names, folders made as needed.

    Raises StagingFailed: with the cause as the place tells it, such as a full disk, or because a
    file cannot be read here or a name leads out of the folder.
    """
    sources: dict[str, str | bytes] = {}
    for name, one in files.items():
        _inside(name, launcher.place)
        assert not isinstance(one, WebAddress), "peers are sent the copy that is here"
        sources[name] = str(one) if isinstance(one, Path) else one
    program = bootstrap.read_source("archive")
    process = launcher.start(Command((python, "-I", "-S", "-c", program, folder)))
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


def unpack_stored(
    launcher: Launcher, python: str, stored: str, files: Mapping[str, Source], folder: str
) -> None:
    """Bring what is in a file at the place, packed, to a folder there; raises StagingFailed.

    A file of a web server is not packed.
    """
    plain = [name for name, one in files.items() if isinstance(one, WebAddress)]
    for name in plain:
        _inside(name, launcher.place)
    program = bootstrap.read_source("archive")
    process = launcher.start(Command((python, "-I", "-S", "-c", program, folder, stored, *plain)))
    await_unpacking(process, launcher.place, folder)


def await_unpacking(process: Process, place: str, folder: str) -> None:
    """End the input of a process that writes it below `folder`, and wait until it is written.

    Raises:
        StagingFailed: it could not be, with the cause as the place tells it, such as a full disk.
    """
    process.close_input()
    if not process.wait().ok:
        raise StagingFailed(
            f"files could not be written to {folder}",
            place=place,
            cause="\n".join(process.tail),
            cure="Make room there, or name another folder for temporary files",
        )


def _inside(name: str, place: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise StagingFailed(
            f"{name!r} is not the name of a file inside the target folder",
            place=place,
            cure="Use a relative path without '..'",
        )
