"""Collectives on buffers that return a request at once."""

from __future__ import annotations

from mpi4py import MPI

from runtime.later import Later
from runtime.mpi.collectives.entry import call_on
from runtime.mpi.collectives.reductions import Average

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from runtime.mpi.collectives import averaged, plans
    from runtime.mpi.collectives import reduction_plans as reductions
    from runtime.mpi.progress.membership import Membership
else:
    averaged = Later("runtime.mpi.collectives.averaged")
    plans = Later("runtime.mpi.collectives.plans")
    reductions = Later("runtime.mpi.collectives.reduction_plans")


class NonblockingCollectives(MPI.Comm):
    """The part of a communicator that begins to move and combine buffers."""

    __slots__ = ()
    _members: Membership | None

    def Ibarrier(self) -> MPI.Request:
        """Begin to wait until every member has come."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Ibarrier(self)
        return call.begin(plans.barrier(call))

    def Ibcast(self, buf: Any, root: int = 0) -> MPI.Request:
        """Begin to give the root's data to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Ibcast(self, buf, root)
        return call.begin(plans.bcast(call, buf, root))

    def Igather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> MPI.Request:
        """Begin to bring a block of every member to the root."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Igather(self, sendbuf, recvbuf, root)
        return call.begin(plans.gather(call, sendbuf, recvbuf, root, vector=False))

    def Igatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> MPI.Request:
        """Begin to bring blocks of any size to the root."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Igatherv(self, sendbuf, recvbuf, root)
        return call.begin(plans.gather(call, sendbuf, recvbuf, root, vector=True))

    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> MPI.Request:
        """Begin to bring a block of the root's to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Iscatter(self, sendbuf, recvbuf, root)
        return call.begin(plans.scatter(call, sendbuf, recvbuf, root, vector=False))

    def Iscatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> MPI.Request:
        """Begin to bring blocks of any size from the root to the members."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Iscatterv(self, sendbuf, recvbuf, root)
        return call.begin(plans.scatter(call, sendbuf, recvbuf, root, vector=True))

    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to bring a block of every member to all."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Iallgather(self, sendbuf, recvbuf)
        return call.begin(plans.allgather(call, sendbuf, recvbuf, vector=False))

    def Iallgatherv(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to bring blocks of any size to all."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Iallgatherv(self, sendbuf, recvbuf)
        return call.begin(plans.allgather(call, sendbuf, recvbuf, vector=True))

    def Ialltoall(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to bring a block of every member to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Ialltoall(self, sendbuf, recvbuf)
        return call.begin(plans.alltoall(call, sendbuf, recvbuf, vector=False))

    def Ialltoallv(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to bring blocks of any size from every member to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Ialltoallv(self, sendbuf, recvbuf)
        return call.begin(plans.alltoall(call, sendbuf, recvbuf, vector=True))

    def Ialltoallw(self, sendbuf: Any, recvbuf: Any) -> MPI.Request:
        """Begin to bring blocks of any size and datatype from every member to every member."""
        call = call_on(self)
        if call is None:
            return MPI.Comm.Ialltoallw(self, sendbuf, recvbuf)
        return call.begin(plans.alltoallw(call, sendbuf, recvbuf))

    def Ireduce(
        self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0
    ) -> MPI.Request:
        """Begin to combine everybody's values at the root."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.reduce(self, sendbuf, recvbuf, root).begin()
            return MPI.Comm.Ireduce(self, sendbuf, recvbuf, op, root)
        return call.begin(reductions.reduce(call, sendbuf, recvbuf, op, root))

    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> MPI.Request:
        """Begin to combine everybody's values; everybody gets the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.allreduce(self, sendbuf, recvbuf).begin()
            return MPI.Comm.Iallreduce(self, sendbuf, recvbuf, op)
        return call.begin(reductions.allreduce(call, sendbuf, recvbuf, op))

    def Ireduce_scatter_block(
        self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM
    ) -> MPI.Request:
        """Begin to combine everybody's values; everybody gets an equal block of the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.reduce_scatter_block(self, sendbuf, recvbuf).begin()
            return MPI.Comm.Ireduce_scatter_block(self, sendbuf, recvbuf, op)
        return call.begin(reductions.reduce_scatter_block(call, sendbuf, recvbuf, op))

    def Ireduce_scatter(
        self,
        sendbuf: Any,
        recvbuf: Any,
        recvcounts: Sequence[int] | None = None,
        op: MPI.Op = MPI.SUM,
    ) -> MPI.Request:
        """Begin to combine everybody's values; everybody gets a block of the result."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.reduce_scatter(self, sendbuf, recvbuf, recvcounts).begin()
            return MPI.Comm.Ireduce_scatter(self, sendbuf, recvbuf, recvcounts, op)
        return call.begin(reductions.reduce_scatter(call, sendbuf, recvbuf, recvcounts, op))


class NonblockingScans(MPI.Intracomm):
    """The part of a communicator of one group that begins to scan."""

    __slots__ = ()
    _members: Membership | None

    def Iscan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> MPI.Request:
        """Begin to combine the values of the ranks up to this one."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.scan(self, sendbuf, recvbuf).begin()
            return MPI.Intracomm.Iscan(self, sendbuf, recvbuf, op)
        return call.begin(reductions.scan(call, sendbuf, recvbuf, op, exclusive=False))

    def Iexscan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> MPI.Request:
        """Begin to combine the values of the ranks before this one."""
        call = call_on(self)
        if call is None:
            if isinstance(op, Average):
                return averaged.exscan(self, sendbuf, recvbuf).begin()
            return MPI.Intracomm.Iexscan(self, sendbuf, recvbuf, op)
        return call.begin(reductions.scan(call, sendbuf, recvbuf, op, exclusive=True))
