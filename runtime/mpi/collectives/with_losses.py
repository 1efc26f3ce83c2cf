"""Collectives on communicators with gaps, and strict ones, which end alike at all members."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from mpi4py import MPI

from runtime.calls import COLLECTIVES
from runtime.collectives.recovery_modes import STRICT_KEY
from runtime.mpi.errors import FailureError, NotOnTheGrid, ProcessGone, refuse, report

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


def over_gaps(m: CommunicatorMembers, name: str, call: str, args: tuple[Any, ...]) -> Any:
    """Carry out a collective among the existing members; `name` is that of its blocking call.

    Lists by rank have None for gaps.

    Raises:
        NotOnTheGrid: it has memory for each rank, and gaps would leave some unset.
    """
    row = COLLECTIVES[name]
    if not row.works_over_gaps:
        raise NotOnTheGrid(
            f"{call} on a communicator with gaps",
            cause=f"it has memory for all {m.size} ranks, {len(m.gaps)} of which are empty",
            cure="Use the call for objects in lower case, or Shrink",
        )
    present = [rank for rank, one in enumerate(m.group) if one not in m.gaps]
    given = list(args)
    if row.takes("root"):
        if given[-1] not in present:
            refuse(m.native, MPI.ERR_RANK)
        given[-1] = present.index(given[-1])
    if row.has("spreads") and given[0] is not None:
        given[0] = [given[0][rank] for rank in present]
    found = getattr(m.dense, call)(*given)
    if not row.has("gathers") or found is None:
        return found
    spread = [None] * m.size
    for rank, one in zip(present, found, strict=True):
        spread[rank] = one
    return spread


def strictly(m: CommunicatorMembers, call: str, carry_out: Callable[[], Any]) -> Any:
    """Return the result of a collective once all members have theirs; otherwise all raise an error.

    Raises:
        ProcessGone: it failed somewhere, because a member is lost.
    """
    error: FailureError | None = None
    found = None
    try:
        found = carry_out()
    except FailureError as fault:
        error = fault
    with m.engine.lock:
        agreeing = m.recovery.agree(error is None)
    m.engine.waits.wait(agreeing.test, lambda: (agreeing,))
    assert agreeing.decision is not None, "it is done"
    if agreeing.decision.flag:
        return found
    if error is not None:
        raise error
    return _failed_elsewhere(m, call, sorted(agreeing.decision.failed))


def _failed_elsewhere(m: CommunicatorMembers, call: str, lost: list[int]) -> NoReturn:
    names = ", ".join(map(m.engine.name_of, lost)) or "a member"
    error = ProcessGone(
        f"{call} failed at other members: {names} is lost",
        cause=f"it was done here, but {STRICT_KEY} asks for the same result everywhere",
        cure="Recover the communicator, with Dup or Shrink, and call it again",
    )
    report(m.native, error)
