"""MPI's calls for recovery from the loss of processes, on communicators of the grid.

Where native MPI serves a communicator they are mpi4py's own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.communicators.children import finish, near_or_null
from runtime.mpi.communicators.classes import standing_for
from runtime.mpi.communicators.groups import Group, group_of
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.errors import ProcessGone, report
from runtime.mpi.progress.operations import Operation
from runtime.mpi.requests.requests import new_request
from runtime.mpi.values.numbers import integer

if TYPE_CHECKING:
    from runtime.collectives.agreement import Value
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.recovery import AgreementOperation

_recovering: Any = LazyModule("runtime.mpi.communicators.recovering")

_FLAG = ctypes.sizeof(ctypes.c_int)


class RecoveryCalls(MPI.Comm):
    """The part of a communicator that recovers from losses."""

    __slots__ = ()

    def Revoke(self) -> None:
        """Make all calls on it fail at all members, except those of this class and `Free`."""
        m = members_behind(self)
        if m is None:
            MPI.Comm.Revoke(self)
            return
        with m.engine.lock:
            m.recovery.revoke()

    def Is_revoked(self) -> bool:
        """Return whether a member has revoked it, as far as is known here."""
        m = members_behind(self)
        if m is None:
            return MPI.Comm.Is_revoked(self)
        m.engine.poll()
        return m.recovery.revoked_by is not None

    def Get_failed(self) -> MPI.Group:
        """Return the members that are known here to be lost, in the order in which they were."""
        m = members_behind(self)
        if m is None:
            return Group(MPI.Comm.Get_failed(self))
        m.engine.poll()
        return group_of(m.engine, tuple(m.recovery.failed()))

    def Ack_failed(self, num_to_ack: int | None = None) -> int:
        """Acknowledge the first losses, at most `num_to_ack`; return how many are acknowledged.

        An acknowledged loss does not make `Agree`, or a receive from any source, fail any more.
        """
        m = members_behind(self)
        if m is None:
            return MPI.Comm.Ack_failed(self, num_to_ack)
        m.engine.poll()
        with m.engine.lock:
            failed, gone = m.recovery.failed(), m.recovery.gone()
            most = len(failed) if num_to_ack is None else integer(num_to_ack)
            m.recovery.acknowledged.update(failed[: max(most, 0)])
            m.engine.losses.survived.update(failed[: max(most, 0)])
            acknowledged = len(m.recovery.acknowledged.intersection(failed))
            if acknowledged == len(failed):  # the others have ended well, and are no losses
                m.recovery.acknowledged.update(gone)
            return acknowledged

    def Agree(self, flag: int) -> int:
        """Return the bitwise AND of the flags of all live members.

        All get the same, whatever fails meanwhile, and all get an error if a member has failed and
        not all have acknowledged it; the flag is then the error's attribute `flag`.
        """
        m = members_behind(self)
        if m is None:
            return MPI.Comm.Agree(self, flag)
        agreeing = _agree(m, integer(flag))
        finish(m, agreeing)
        decision = _decision_of(agreeing)
        error = _unacknowledged(m, decision)
        if error is not None:
            report(m.native, error)
        return decision.flag

    def Iagree(self, flag: Any) -> MPI.Request:
        """Begin to agree on a flag, an integer of C in memory, which receives the result."""
        m = members_behind(self)
        if m is None:
            return MPI.Comm.Iagree(self, flag)
        memory = memoryview(flag).cast("B")
        if memory.nbytes != _FLAG:
            raise ValueError(f"expecting memory for one integer of C, not {memory.nbytes} bytes")
        number = ctypes.c_int.from_buffer(memory)

        def decided(decision: Value) -> BaseException | None:
            number.value = decision.flag
            return _unacknowledged(m, decision)

        return new_request(m, _Then(_agree(m, number.value), decided))

    def Shrink(self) -> MPI.Comm:
        """Return a communicator of all members that are left, in their order."""
        m = members_behind(self)
        if m is None:
            return near_or_null(MPI.Comm.Shrink(self), self)
        agreeing = _agree(m, -1)
        finish(m, agreeing)
        made: MPI.Comm = _recovering.shrunk(m, agreeing, _decision_of(agreeing))
        return made

    def Ishrink(self) -> tuple[MPI.Comm, MPI.Request]:
        """Return what `Shrink` does, and the request that says when it may be used."""
        m = members_behind(self)
        if m is None:
            near, begun = MPI.Comm.Ishrink(self)
            return near_or_null(near, self), begun
        kind = standing_for(MPI.Intercomm if m.is_inter else MPI.Intracomm)
        made: Any = MPI.Comm.__new__(kind)
        agreeing = _agree(m, -1)

        def decided(decision: Value) -> None:
            found = _recovering.shrunk(m, agreeing, decision)
            ctypes.memmove(MPI._addressof(made), MPI._addressof(found), MPI._sizeof(MPI.Comm))
            made._members = members_behind(found)

        return made, new_request(m, _Then(agreeing, decided))

    def Set_info(self, info: MPI.Info) -> None:
        """Set hints, such as those for recovery; see `runtime.collectives.recovery_modes`."""
        m = members_behind(self)
        MPI.Comm.Set_info(self, info)
        if m is not None:
            _recovering.use_info(m, info)

    def Get_info(self) -> MPI.Info:
        """Return the hints, including those of the modes of recovery."""
        m = members_behind(self)
        found = MPI.Comm.Get_info(self)
        if m is not None and m.recovery.has_modes:
            for key, value in m.recovery.life.modes.as_hints().items():
                found.Set(key, value)
        return found


class _Then(Operation):
    """An agreement and what is to be done with its result, which may raise an error."""

    __slots__ = ("_agreeing", "_decided")

    def __init__(
        self,
        agreeing: AgreementOperation,
        decided: Callable[[Value], BaseException | None],
    ) -> None:
        super().__init__()
        self._agreeing, self._decided = agreeing, decided

    def test(self) -> bool:
        """Test whether it is decided, and if so do it."""
        if not self.done and self._agreeing.test():
            self.finish(self._decided(_decision_of(self._agreeing)))
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return self._agreeing.describe()

    def awaited(self) -> Sequence[int]:
        """Return the ranks whose votes are missing."""
        return self._agreeing.awaited()


def _agree(m: CommunicatorMembers, flag: int) -> AgreementOperation:
    with m.engine.lock:
        return m.recovery.agree(flag)


def _decision_of(agreeing: AgreementOperation) -> Value:
    assert agreeing.decision is not None, "it is done"
    return agreeing.decision


def _unacknowledged(m: CommunicatorMembers, decision: Value) -> ProcessGone | None:
    """Return the error of an agreement if some member has not acknowledged a failure."""
    unknown = decision.failed - decision.acknowledged
    if not unknown:
        return None
    names = ", ".join(m.engine.name_of(one) for one in sorted(unknown))
    error = ProcessGone(
        f"{names}: lost, and not all members have acknowledged that",
        cure="Call Ack_failed at all members before, or Shrink",
    )
    vars(error)["flag"] = decision.flag
    return error
