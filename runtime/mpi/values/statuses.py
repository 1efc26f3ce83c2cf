"""Statuses: what is written into those of a program."""

from __future__ import annotations

from mpi4py import MPI

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.mpi.progress.operations import Operation


def fill(status: MPI.Status | None, operation: Operation) -> None:
    """Write down what has become of an operation, but for its error."""
    if status is not None:
        write(status, operation.source, operation.tag, operation.nbytes)
        if operation.cancelled:
            status.Set_cancelled(True)


def write(status: MPI.Status, source: int, tag: int, nbytes: int) -> None:
    """Write down a message."""
    status.Set_source(source)
    status.Set_tag(tag)
    status.Set_elements(MPI.BYTE, nbytes)
    status.Set_cancelled(False)


def clear(status: MPI.Status | None) -> None:
    """Write down what MPI says of nothing at all."""
    copy(MPI.Status(), status)


def copy(source: MPI.Status, target: MPI.Status | None) -> None:
    """Write down what another status says."""
    if target is not None:
        target.tomemory()[:] = source.tomemory()


def error_class_of(error: BaseException | None) -> int:
    """Return what the error field of a status says."""
    if error is None:
        return MPI.SUCCESS
    return error.error_class if isinstance(error, MPI.Exception) else MPI.ERR_OTHER


def hand_out(found: Sequence[MPI.Status], statuses: Sequence[MPI.Status] | None) -> None:
    """Write statuses into those a program gave: a list grows as needed, a tuple gets what fits."""
    if statuses is None:
        return
    if isinstance(statuses, list):
        statuses.extend(MPI.Status() for _ in range(len(found) - len(statuses)))
    for one, status in zip(found, statuses, strict=False):
        copy(one, status)
