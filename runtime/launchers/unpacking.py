"""The end of bringing files to a place: waiting for the process that writes them there."""

from __future__ import annotations

from runtime.launchers.base import Process
from runtime.launchers.errors import StagingFailed


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
