"""Fills the statuses of a program."""

from __future__ import annotations

from collections.abc import Sequence

from mpi4py import MPI


def write(status: MPI.Status, source: int, tag: int, nbytes: int) -> None:
    """Fill a status with a message."""
    status.Set_source(source)
    status.Set_tag(tag)
    status.Set_elements(MPI.BYTE, nbytes)
    status.Set_cancelled(False)


def clear(status: MPI.Status | None) -> None:
    """Fill a status with MPI's empty status."""
    copy(MPI.Status(), status)


def copy(source: MPI.Status, target: MPI.Status | None) -> None:
    """Copy another status."""
    if target is not None:
        target.tomemory()[:] = source.tomemory()


def error_class_of(error: BaseException | None) -> int:
    """Return the error field of a status."""
    if error is None:
        return MPI.SUCCESS
    return error.error_class if isinstance(error, MPI.Exception) else MPI.ERR_OTHER


def hand_out(found: Sequence[MPI.Status], statuses: Sequence[MPI.Status] | None) -> None:
    """Copy statuses into those a program gave: a list grows as needed, a tuple gets what fits."""
    if statuses is None:
        return
    if isinstance(statuses, list):
        statuses.extend(MPI.Status() for _ in range(len(found) - len(statuses)))
    for one, status in zip(found, statuses, strict=False):
        copy(one, status)
