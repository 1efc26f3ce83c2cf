"""Duplicates of communicators over clusters, which are begun, and made in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.communicators.background import NativeDuplicate
from runtime.mpi.communicators.children import attendance_of, dense_of, duplicate
from runtime.mpi.communicators.classes import give_handle
from runtime.mpi.communicators.members import everybody_in
from runtime.mpi.progress.operations import NativeOperation

if TYPE_CHECKING:
    from runtime.collectives.port import Steps
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.operations import Operation


def begin_copy(
    comm: Any, info: MPI.Info | None = None, token: NativeDuplicate | None = None
) -> tuple[Any, Operation]:
    """Begin a duplicate of a communicator over clusters, and of the token that C has of it.

    Returns the duplicate, which is COMM_NULL until the operation is done.
    """
    from runtime.mpi.collectives.state import CollectivePlan, state_of

    members: CommunicatorMembers = comm._members
    attendance = attendance_of(members, everybody_in(members))
    copy = MPI.Comm.__new__(type(comm))
    parts = [NativeDuplicate(members.native, info), NativeDuplicate(members.inner)]
    context = members.next_context("Dup")
    dense = dense_of(members, context)
    steps = _steps(copy, members, parts, token, context=context, dense=dense)
    task = state_of(members).begin(CollectivePlan("Dup", lambda _: steps))
    members.copies = [*_on_their_way(members), task]
    return copy, attendance.attended(task)


def await_copies(members: CommunicatorMembers) -> None:
    """Wait for duplicates that were begun, since native ones have the same order everywhere.

    All members have begun them before they came to what waits here.
    """
    copies = _on_their_way(members)
    if copies:
        members.engine.waits.wait(lambda: all(one.test() for one in copies), lambda: copies)


def _on_their_way(members: CommunicatorMembers) -> list[Operation]:
    return [one for one in members.copies if not one.done]


def _steps(
    copy: Any,
    members: CommunicatorMembers,
    parts: list[NativeDuplicate],
    token: NativeDuplicate | None,
    *,
    context: bytes,
    dense: Any,
) -> Steps[None]:
    """Make the native ones when all members in this cluster have begun them, then `copy`."""
    if members.inner.Get_size() > 1:
        yield (NativeOperation(members.inner.Ibarrier(), None, "the others of this cluster"),)
    everything = parts if token is None else [*parts, token]
    for part in everything:
        part.begin()
    yield tuple(everything)
    native, inner = (MPI.Intracomm(one.made) for one in parts)
    if any(one.error is not None for one in everything):
        for made in (native, inner):
            if made:
                made.Free()
        return
    made = duplicate(type(copy), members, native, inner, context=context, dense=dense)
    copy._members = made._members
    give_handle(copy, made)
